/** The names of events that a user may subscribe to, and the events that users get by default. */
import { isAdministrator, type Role } from '../../../lib/roles.ts'
import { PUBLIC_ACTIONS } from '../../../platform/journal/index.ts'

const ALL = '*'
/** Sent only to users who subscribe to this name, because each session in use causes the event every 15 minutes. */
export const NAMED_ONLY = 'auth.token_refreshed'
/** The groups of events that every user may get about their own account. */
export const OWN_GROUPS = ['user', 'auth'] as const

/** The events about their own account that users get by default, because they indicate misuse of the account. */
export const SECURITY_EVENTS: readonly string[] = [
  'user.blocked',
  'user.unblocked',
  'user.role_changed',
  'user.password_changed',
  'auth.reset_requested',
  'auth.totp_enabled',
  'auth.totp_disabled',
  'auth.login',
  'auth.login_failed',
  'auth.refresh_reused',
]

const groupOf = (action: string) => action.slice(0, action.indexOf('.'))
const SUBSCRIBABLE = PUBLIC_ACTIONS.filter((action) => action !== 'webhook.test')
const namesOf = (actions: readonly string[]) => [
  ALL,
  ...new Set(actions.map((action) => `${groupOf(action)}.*`)),
  ...actions,
]

const OF_ADMINISTRATORS = namesOf(SUBSCRIBABLE)
const OF_EVERYBODY = namesOf(
  SUBSCRIBABLE.filter((action) => OWN_GROUPS.some((group) => group === groupOf(action))),
)

/** Returns the names that a user of the role may subscribe to: single events, groups, or all. */
export function availableTo(role: Role): readonly string[] {
  return isAdministrator(role) ? OF_ADMINISTRATORS : OF_EVERYBODY
}
