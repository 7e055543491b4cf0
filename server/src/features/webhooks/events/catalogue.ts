/** The events that webhooks can subscribe to, each with a message as it would come. */
import { ACTIONS, PUBLIC_ACTIONS } from '../../../platform/journal/index.ts'
import type { EventDescription } from '../webhooks.schema.ts'
import { messageBody } from './message.ts'

/** Every public action of this release, with the whole body of a message about it. */
export const CATALOGUE: readonly EventDescription[] = PUBLIC_ACTIONS.map((name, index) => ({
  name,
  description: ACTIONS[name].meaning,
  example: JSON.parse(
    messageBody({
      ...ACTIONS[name].example,
      id: 1001 + index,
      tenant_id: 3,
      action: name,
      created_at: '2026-11-21T08:30:00.000Z',
    }),
  ),
}))
