/** The closed registry of what the journal can hold, each action with its meaning and an example. */

import {
  type ActionExample,
  ADMIN,
  about,
  active,
  authorized,
  backup,
  department,
  fix,
  inactive,
  keptOut,
  letIn,
  NURSE,
  northClinic,
  nurse,
  oneDepartment,
  paid,
  patient,
  payment,
  registered,
  rotation,
  SUPERADMIN,
  session,
  surgery,
  tenant,
  tried,
  user,
  webhook,
} from './action-examples.ts'

/**
 * Every action that the journal can hold: `resource.verb` with what it means. The public ones are
 * the events that webhooks and the messenger may subscribe to, and have an example; `docs/events.md`
 * is tested against this table.
 */
export const ACTIONS = {
  'tenant.created': {
    meaning: 'A tenant was created',
    example: tenant({ before: null, after: northClinic }),
  },
  'tenant.updated': {
    meaning: "A tenant's name or settings changed",
    example: tenant({ before: { name: 'North' }, after: { name: 'North Clinic' } }),
  },
  'tenant.activated': {
    meaning: 'A deactivated tenant was activated again',
    example: tenant({ before: inactive, after: active }),
  },
  'tenant.deactivated': {
    meaning: 'A tenant was deactivated and its users signed out',
    example: tenant({ before: active, after: inactive }),
  },
  'tenant.deleted': {
    meaning: 'A tenant was deleted; it can be restored until it is purged',
    example: tenant(),
  },
  'tenant.purged': { meaning: "A deleted tenant's data was destroyed for good" },
  'tenant.restored': { meaning: 'A deleted tenant was put back', example: tenant(null, null) },
  'outbound.released': { meaning: 'What a restored copy held back may go out' },
  'department.created': {
    meaning: 'A department was created',
    example: department({ before: null, after: surgery }),
  },
  'department.updated': {
    meaning: "A department's name or head doctor changed",
    example: department({ before: surgery, after: { ...surgery, head_doctor_id: 44 } }),
  },
  'department.deleted': {
    meaning: 'A department was deleted; its users and patients stay without one',
    example: department({ before: surgery, after: null }),
  },
  'user.created': { meaning: 'A user was created', example: user({ before: null, after: nurse }) },
  'user.updated': {
    meaning: "A user's name, e-mail address, department or view of patients changed",
    example: user({ before: { department_id: 12 }, after: { department_id: 14 } }),
  },
  'user.deleted': { meaning: 'A user was deleted', example: user({ before: nurse, after: null }) },
  'user.blocked': {
    meaning: 'A user was blocked and signed out',
    example: user({ before: letIn, after: keptOut }),
  },
  'user.unblocked': {
    meaning: 'A blocked user may sign in again, or a pending one for the first time',
    example: user({ before: keptOut, after: letIn }),
  },
  'user.role_changed': {
    meaning: 'A user was given another role and signed out',
    example: user({ before: { role: 'nurse' }, after: { role: 'doctor' } }),
  },
  'user.password_changed': {
    meaning: "A user's password was changed and their sessions ended",
    example: user({ before: {}, after: {}, by: 'administrator' }),
  },
  'user.sessions_ended': {
    meaning: 'An administrator ended sessions of a user',
    example: user({ sessions: 2 }),
  },
  'user.registered': {
    meaning: 'A user made an account of their own',
    example: user({ before: null, after: registered }, NURSE),
  },
  'user.invited': { meaning: 'A user was sent an invitation', example: user(null) },
  'user.email_verified': {
    meaning: 'A user confirmed that their e-mail address is theirs',
    example: user(null, NURSE),
  },
  'auth.verification_sent': {
    meaning: 'A link to confirm an address was sent',
    example: user(null, NURSE),
  },
  'auth.reset_requested': {
    meaning: 'A link to choose a new password was sent',
    example: user(null, NURSE),
  },
  'auth.totp_offered': {
    meaning: 'A user was offered a secret for a second factor',
    example: user(null, NURSE),
  },
  'auth.totp_enabled': { meaning: 'A user set up a second factor', example: user(null, NURSE) },
  'auth.totp_disabled': { meaning: "A user's second factor was taken away", example: user() },
  'auth.login': { meaning: 'A user signed in', example: session() },
  'auth.login_failed': {
    meaning: 'A sign-in was refused',
    example: user({ reason: 'invalid_credentials' }, null),
  },
  'auth.token_refreshed': {
    meaning: 'A session went on with a new refresh token',
    example: session(),
  },
  'auth.refresh_reused': {
    meaning: 'A spent refresh token was shown again; its session was ended',
    example: session(),
  },
  'auth.logout': {
    meaning: 'A user signed out, of one session or of all',
    example: session({ sessions: 1 }),
  },
  'auth.session_revoked': {
    meaning: 'A user ended one of their sessions',
    example: session({ sessions: 1 }),
  },
  'auth.session_ended': {
    meaning: 'The oldest session of a user was ended by a sign-in, as they may have 50',
    example: session(null),
  },
  'auth.key_rotated': { meaning: 'A new key signs the access tokens' },
  'access.refused': {
    meaning: 'A signed-in user called what they may not; the calls of a minute are counted',
  },
  'audit.exported': { meaning: 'An export of the audit log started, was completed or was aborted' },
  'preferences.updated': { meaning: "A user's theme or settings changed" },
  'messenger.linked': { meaning: 'A chat of the messenger was linked with an account' },
  'messenger.unlinked': { meaning: 'A chat of the messenger was unlinked from its account' },
  'messenger.subscribed': { meaning: 'A user chose which events the messenger tells them of' },
  'webhook.registered': { meaning: 'A webhook was registered' },
  'webhook.updated': { meaning: "A webhook's address, events, secret or state changed" },
  'webhook.deleted': { meaning: 'A webhook was deleted, with what still waited for it' },
  'webhook.disabled': {
    meaning:
      'A webhook was deactivated by the service: its receiver failed for too long or is gone',
  },
  'webhook.delivery_retried': { meaning: 'A delivery was put back in the queue by hand' },
  'webhook.replayed': { meaning: 'The events of a time were put in the queue of a webhook again' },
  'webhook.secrets_withdrawn': {
    meaning: 'The secrets before the current one of a webhook were withdrawn',
  },
  'webhook.replay_cancelled': {
    meaning: 'A replay was cancelled, and what still waited of it taken back',
  },
  'payment.updated': {
    meaning: 'A payment is pending or authorized, or its amount changed meanwhile',
    example: payment(null, authorized),
  },
  'payment.succeeded': { meaning: 'A payment was made', example: payment(authorized, paid) },
  'payment.failed': {
    meaning: 'A payment failed; another try may follow',
    example: payment(authorized, { ...authorized, status: 'failed' }),
  },
  'payment.canceled': {
    meaning: 'A payment was canceled before it was made',
    example: payment(authorized, { ...authorized, status: 'canceled' }),
  },
  'payment.refunded': {
    meaning: 'A payment, or more of it than before, was given back',
    example: payment(paid, {
      ...paid,
      status: 'partially_refunded',
      amount_refunded: 2_500,
    }),
  },
  'patient.read': { meaning: "A patient's record was read" },
  'patient.listed': { meaning: 'Patients were shown in a list' },
  'patient.searched': { meaning: 'Patients were searched for: which were found, never the term' },
  'patient.exported': { meaning: "A patient's record was exported" },
  'payment_notification.read': {
    meaning: "A payment provider's notification was read, with its body",
  },
  'payment_notification.processed': {
    meaning: "A payment provider's notification was tried again by hand",
  },
  'payment_notification.discarded': { meaning: 'Unverified payment notifications were deleted' },
  'patient.created': {
    meaning: 'A patient was created',
    example: patient({ fields: ['full_name'] }),
  },
  'patient.updated': {
    meaning: "A patient's record was changed; which fields, but not what they say",
    example: patient({ fields: ['phone', 'address'] }),
  },
  'patient.deleted': {
    meaning: 'A patient was deleted, and can be put back until purged',
    example: patient(null, ADMIN),
  },
  'patient.restored': { meaning: 'A deleted patient was put back', example: patient(null, ADMIN) },
  'patient.purged': { meaning: "A deleted patient's record was destroyed for good" },
  'patient.break_glass': {
    meaning: 'Somebody opened the record of a patient by break-glass, for four hours',
    example: patient({ purpose: 'emergency', grant_id: 7 }),
  },
  'backup.created': {
    meaning: 'A backup was made, and read again to its end',
    example: backup({
      type: 'tenant',
      reason: 'request',
      size_bytes: 48_211_904,
      sha256: '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae',
      records: 182_044,
      schema_version: 14,
    }),
  },
  'backup.failed': {
    meaning: 'A backup was not made, not restored, failed in its drill, or is of no use any more',
    example: backup({
      type: 'tenant',
      reason: 'request',
      error: 'The process that did it ended before it was done; ask for it again.',
    }),
  },
  'backup.verified': {
    meaning: 'The whole file of a backup was read again, and is as it was written',
    example: backup({ type: 'full' }),
  },
  'backup.rewritten': {
    meaning: 'A backup was written anew without tenants that were purged',
    example: backup({ type: 'full', reason: 'schedule', records: 182_044, forgotten: [7] }),
  },
  'backup.restored': {
    meaning: 'The clinic was put back to what a backup holds of it',
    example: backup({
      type: 'tenant',
      access: 'merged',
      safety_backup_id: '5d3c0f52-8a3f-4c1e-bb53-0f6b2a1e9c77',
    }),
  },
  'backup.downloaded': {
    meaning: 'The file of a backup was downloaded, or a part of it',
    example: backup({ type: 'tenant' }),
  },
  'backup.deleted': {
    meaning: 'A backup was deleted with its file',
    example: backup({ type: 'tenant', created_at: '2026-11-21T12:00:00.000Z' }),
  },
  'encryption.rotation_started': {
    meaning: 'New keys seal from now on; what the old ones have sealed is sealed anew',
    example: rotation({ key_id: 2, records_total: 182_044 }),
  },
  'encryption.rotation_completed': {
    meaning: 'All is sealed by the new keys, and the old ones are destroyed',
    example: rotation({ key_id: 2, records_done: 182_044 }, null),
  },
  'encryption.rotation_failed': {
    meaning:
      'Some records do not open or cannot be written, and keep their old keys, which are not destroyed',
    example: rotation({ key_id: 2, records_done: 182_043, records_failed: 1 }, null),
  },
  'self_healing.proposed': {
    meaning: 'A fault was found that waits for people: to confirm its repair, or to mend it',
    example: fix({ ...oneDepartment, occurrences: 1 }),
  },
  'self_healing.applied': {
    meaning: 'A fault was repaired, and is found no more',
    example: tried({ status: 'applied', occurrences: 0 }, 1),
  },
  'self_healing.failed': {
    meaning: 'The repair of a fault failed, or it is found again behind it',
    example: tried({ status: 'failed', occurrences: 1 }, 0),
  },
  'self_healing.deleted': {
    meaning: 'A fix was taken out of the catalogue: its fault is no longer looked for',
    example: fix({ key: 'departments.head' }, SUPERADMIN),
  },
  'self_healing.seeded': {
    meaning: 'Built-in fixes were put into the catalogue, or reset',
    example: {
      ...fix({ created: 1, updated: 0, overwrite: false }, SUPERADMIN),
      resource_id: null,
    },
  },
  'encryption.root_key_rotated': {
    meaning: 'All that the root key seals is sealed by another one, and the service needs that',
    example: about(
      'encryption',
      '9f86d081884c7d65',
      SUPERADMIN,
    )({ before: { root_key: '2c26b46b68ffc68f' }, after: { root_key: '9f86d081884c7d65' } }, null),
  },
  'encryption.root_key_destroyed': {
    meaning: 'A root key is destroyed: a former one that no backup needs, or one that was lost',
    example: about(
      'encryption',
      '2c26b46b68ffc68f',
      SUPERADMIN,
    )({ root_key: '2c26b46b68ffc68f', backups_since: '2026-11-21T12:00:00.000Z' }, null),
  },
  'webhook.test': { meaning: 'A webhook was tried with an event made for it', example: webhook() },
} as const satisfies Record<string, { meaning: string; example?: ActionExample }>

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

/** Somebody saw patients, and nothing changed: in the audit log, but no event. */
export const ACCESSES = [
  'patient.read',
  'patient.listed',
  'patient.searched',
  'patient.exported',
] as const satisfies readonly Action[]

/** Of the public groups, what is no event: nobody could hear it, as the tenant or its webhooks are gone, or it is an access. */
const INTERNAL = [
  'auth.key_rotated',
  'tenant.purged',
  'patient.purged',
  ...ACCESSES,
] as const satisfies readonly Action[]

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

/** A public action without an example is a fault of types. */
ACTIONS satisfies Record<PublicAction, { example: ActionExample }>
