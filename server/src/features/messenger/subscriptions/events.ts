/** The names that a user may subscribe to, and what is told before they have chosen. */
import { isAdministrator, type Role } from '../../../lib/roles.ts'
import { PUBLIC_ACTIONS } from '../../../platform/journal/index.ts'

const ALL = '*'
/** Told only where it is named: a busy session writes one every quarter of an hour. */
export const NAMED_ONLY = 'auth.token_refreshed'
/** The groups of which everybody hears what is about their own account. */
export const OWN_GROUPS = ['user', 'auth'] as const

/** What is told of the own account before any choice: what its owner should notice at once. */
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
const TOLD = PUBLIC_ACTIONS.filter((action) => action !== 'webhook.test')
const namesOf = (actions: readonly string[]) => [
  ALL,
  ...new Set(actions.map((action) => `${groupOf(action)}.*`)),
  ...actions,
]

const OF_ADMINISTRATORS = namesOf(TOLD)
const OF_EVERYBODY = namesOf(
  TOLD.filter((action) => OWN_GROUPS.some((group) => group === groupOf(action))),
)

/** Returns the names that a user of the role may subscribe to: single events, groups, or all. */
export function availableTo(role: Role): readonly string[] {
  return isAdministrator(role) ? OF_ADMINISTRATORS : OF_EVERYBODY
}
