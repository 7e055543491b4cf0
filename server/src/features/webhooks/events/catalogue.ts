/** The events that webhooks can subscribe to, each with an example message. */
import { ACTIONS, PUBLIC_ACTIONS } from '../../../platform/journal/index.ts'
import type { EventDescription } from '../webhooks.schema.ts'
import { messageBody } from './message.ts'

/** The public actions of this release, each with the complete body of an example message. */
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
