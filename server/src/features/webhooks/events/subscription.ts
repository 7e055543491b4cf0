/** What webhooks subscribe to: single events, groups of them, or all. */
import { isPublic, PUBLIC_ACTIONS } from '../../../platform/journal/index.ts'

/** Sent to one webhook by its own operation, and to no other. */
export const TEST_EVENT = 'webhook.test'
const ALL = '*'

const groupOf = (action: string) => `${action.slice(0, action.indexOf('.'))}.*`

/** The names that a webhook may subscribe to. */
export const SUBSCRIBABLE: readonly string[] = [
  ALL,
  ...new Set(PUBLIC_ACTIONS.filter((action) => action !== TEST_EVENT).map(groupOf)),
  ...PUBLIC_ACTIONS,
]

/** Whether an entry of this action goes to a webhook that has subscribed to `events`. */
export function isWanted(events: readonly string[], action: string): boolean {
  if (!isPublic(action) || action === TEST_EVENT) return false
  return [action, groupOf(action), ALL].some((name) => events.includes(name))
}
