/**
 * Every action that the journal can hold: `resource.verb` with what it means. The public ones are
 * the events that webhooks and the messenger may subscribe to; `docs/events.md` is tested against
 * this table.
 */
export const ACTIONS = {
  'tenant.created': 'A tenant was created',
  'tenant.updated': "A tenant's name or settings changed",
  'tenant.activated': 'A deactivated tenant was activated again',
  'tenant.deactivated': 'A tenant was deactivated and its users signed out',
  'tenant.deleted': 'A tenant was deleted; it can be restored until it is purged',
  'tenant.purged': "A deleted tenant's data was destroyed for good",
  'tenant.restored': 'A deleted tenant was put back',
  'department.created': 'A department was created',
  'department.updated': "A department's name or head doctor changed",
  'department.deleted': 'A department was deleted; its users stay without one',
  'user.created': 'A user was created',
  'user.updated': "A user's name, department or view of patients changed",
  'user.deleted': 'A user was deleted',
  'user.blocked': 'A user was blocked and signed out',
  'user.unblocked': 'A blocked user may sign in again',
  'user.role_changed': 'A user was given another role and signed out',
  'user.password_changed': "A user's password was changed and their sessions ended",
  'user.registered': 'A user made an account of their own',
  'user.email_verified': 'A user confirmed that their e-mail address is theirs',
  'auth.verification_sent': 'A link to confirm an address was sent',
  'auth.reset_requested': 'A link to choose a new password was sent',
  'auth.totp_offered': 'A user was offered a secret for a second factor',
  'auth.totp_enabled': 'A user set up a second factor',
  'auth.totp_disabled': "A user's second factor was taken away",
  'auth.login': 'A user signed in',
  'auth.login_failed': 'A sign-in was refused',
  'auth.token_refreshed': 'A session went on with a new refresh token',
  'auth.refresh_reused': 'A spent refresh token was shown again; its session was ended',
  'auth.logout': 'A user signed out, of one session or of all',
  'auth.session_revoked': 'A user ended one of their sessions',
  'auth.key_rotated': 'A new key signs the access tokens',
  'access.refused': 'A signed-in user called what they may not',
  'preferences.updated': "A user's theme or settings changed",
} as const

export type Action = keyof typeof ACTIONS

/** The groups whose actions are events for webhooks and the messenger (decisions §4). */
const PUBLIC_GROUPS = [
  'tenant',
  'department',
  'user',
  'auth',
  'backup',
  'encryption',
  'payment',
  'patient',
  'self_healing',
  'webhook',
]

/** Whether an action is an event that others may subscribe to. */
export function isPublic(action: string): boolean {
  return PUBLIC_GROUPS.includes(action.slice(0, action.indexOf('.')))
}
