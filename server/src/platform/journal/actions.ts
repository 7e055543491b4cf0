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
  'auth.session_ended': 'The oldest session of a user was ended by a sign-in, as they may have 50',
  'auth.key_rotated': 'A new key signs the access tokens',
  'access.refused': 'A signed-in user called what they may not; the calls of a minute are counted',
  'preferences.updated': "A user's theme or settings changed",
  'webhook.registered': 'A webhook was registered',
  'webhook.updated': "A webhook's address, events, secret or state changed",
  'webhook.deleted': 'A webhook was deleted, with what still waited for it',
  'webhook.disabled':
    'A webhook was deactivated by the service: its receiver failed for too long or is gone',
  'webhook.delivery_retried': 'A delivery was put back in the queue by hand',
  'webhook.replayed': 'The events of a time were put in the queue of a webhook again',
  'webhook.secrets_withdrawn': 'The secrets before the current one of a webhook were withdrawn',
  'webhook.replay_cancelled': 'A replay was cancelled, and what still waited of it taken back',
  'payment.updated': 'A payment is pending or authorized, or its amount changed meanwhile',
  'payment.succeeded': 'A payment was made',
  'payment.failed': 'A payment failed; another try may follow',
  'payment.canceled': 'A payment was canceled before it was made',
  'payment.refunded': 'A payment, or more of it than before, was given back',
  'payment_notification.read': "A payment provider's notification was read, with its body",
  'payment_notification.processed': "A payment provider's notification was tried again by hand",
  'webhook.test': 'A webhook was tried with an event made for it',
} as const

export type Action = keyof typeof ACTIONS

/** The groups whose actions are all events for webhooks and the messenger (decisions §4). */
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
] as const

/** Of these groups, what nobody could hear: it has no tenant, or the tenant's webhooks are gone by then. */
const INTERNAL = ['auth.key_rotated', 'tenant.purged'] as const satisfies readonly Action[]

/** An action that others may subscribe to. */
export type PublicAction = Exclude<
  Extract<Action, `${(typeof PUBLIC_GROUPS)[number]}.${string}` | 'webhook.test'>,
  (typeof INTERNAL)[number]
>

/**
 * Whether an action is an event that others may subscribe to. It goes by the group, so that an
 * action which only a newer release knows is not lost on an older one beside it.
 */
export function isPublic(action: string): boolean {
  if (INTERNAL.some((internal) => internal === action)) return false
  return action === 'webhook.test' || PUBLIC_GROUPS.some((group) => action.startsWith(`${group}.`))
}

/** The public actions of this release. */
export const PUBLIC_ACTIONS: readonly PublicAction[] = (Object.keys(ACTIONS) as Action[]).filter(
  (action): action is PublicAction => isPublic(action),
)
