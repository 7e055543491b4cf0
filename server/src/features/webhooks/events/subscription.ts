/** The names that webhooks subscribe to: single events, groups of events, or all. */
import { isPublic, PUBLIC_ACTIONS } from '../../../platform/journal/index.ts'

/** The event of a test message, which is sent to one webhook only. */
export const TEST_EVENT = 'webhook.test'
const ALL = '*'

const groupOf = (action: string) => `${action.slice(0, action.indexOf('.'))}.*`

/** The names that a webhook may subscribe to. */
export const SUBSCRIBABLE: readonly string[] = [
  ALL,
  ...new Set(PUBLIC_ACTIONS.filter((action) => action !== TEST_EVENT).map(groupOf)),
  ...PUBLIC_ACTIONS,
]

/** Returns whether a webhook that subscribes to `events` receives journal entries with this action. */
export function isWanted(events: readonly string[], action: string): boolean {
  if (!isPublic(action) || action === TEST_EVENT) return false
  return [action, groupOf(action), ALL].some((name) => events.includes(name))
}
