/** The complete registry of journal actions, each with its meaning and an example. */

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
 * Every action of the journal, as `resource.verb`. Webhooks and the messenger can subscribe to public actions, which
 * have examples. A test compares `docs/reference/events.md` with this table.
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
    meaning: 'A tenant was deactivated and its users were signed out',
    example: tenant({ before: active, after: inactive }),
  },
  'tenant.deleted': {
    meaning: 'A tenant was deleted. It can be restored until it is purged',
    example: tenant(),
  },
  'tenant.purged': { meaning: 'The data of a deleted tenant was permanently destroyed' },
  'tenant.restored': { meaning: 'A deleted tenant was restored', example: tenant(null, null) },
  'job.cancelled': { meaning: 'A user cancelled a backup, a test restore or an export' },
  'outbound.released': {
    meaning: 'Outgoing mails, webhooks and messages of a restored copy were released',
  },
  'database.writes_lost': {
    meaning: 'A new database server lacks acknowledged changes. All sessions were ended',
  },
  'department.created': {
    meaning: 'A department was created',
    example: department({ before: null, after: surgery }),
  },
  'department.updated': {
    meaning: "A department's name or head doctor changed",
    example: department({ before: surgery, after: { ...surgery, head_doctor_id: 44 } }),
  },
  'department.deleted': {
    meaning: 'A department was deleted. Its users and patients stay, without a department',
    example: department({ before: surgery, after: null }),
  },
  'user.created': { meaning: 'A user was created', example: user({ before: null, after: nurse }) },
  'user.updated': {
    meaning: "A user's name, e-mail address, department or access to patients changed",
    example: user({ before: { department_id: 12 }, after: { department_id: 14 } }),
  },
  'user.deleted': { meaning: 'A user was deleted', example: user({ before: nurse, after: null }) },
  'user.blocked': {
    meaning: 'A user was blocked and signed out',
    example: user({ before: letIn, after: keptOut }),
  },
  'user.unblocked': {
    meaning: 'A blocked user was unblocked, or a pending user was approved',
    example: user({ before: keptOut, after: letIn }),
  },
  'user.role_changed': {
    meaning: 'A user was given another role and was signed out',
    example: user({ before: { role: 'nurse' }, after: { role: 'doctor' } }),
  },
  'user.password_changed': {
    meaning: "A user's password was changed and their sessions were ended",
    example: user({ before: {}, after: {}, by: 'administrator' }),
  },
  'user.sessions_ended': {
    meaning: 'An administrator ended sessions of a user',
    example: user({ sessions: 2 }),
  },
  'user.registered': {
    meaning: 'A user registered an account',
    example: user({ before: null, after: registered }, NURSE),
  },
  'user.invited': { meaning: 'A user was sent an invitation', example: user(null) },
  'user.email_verified': {
    meaning: 'A user confirmed their e-mail address',
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
    meaning: 'A user started to set up a second factor',
    example: user(null, NURSE),
  },
  'auth.totp_enabled': { meaning: 'A user set up a second factor', example: user(null, NURSE) },
  'auth.totp_disabled': { meaning: "A user's second factor was removed", example: user() },
  'auth.login': { meaning: 'A user signed in', example: session() },
  'auth.login_failed': {
    meaning: 'A sign-in was rejected',
    example: user({ reason: 'invalid_credentials' }, null),
  },
  'auth.token_refreshed': {
    meaning: 'A session was continued with a new refresh token',
    example: session(),
  },
  'auth.refresh_reused': {
    meaning: 'A used refresh token was sent again, so its session was ended',
    example: session(),
  },
  'auth.logout': {
    meaning: 'A user signed out of one session or of all sessions',
    example: session({ sessions: 1 }),
  },
  'auth.session_confirmed': {
    meaning: 'A user entered the password again to confirm a session of the console',
    example: session(),
  },
  'auth.session_revoked': {
    meaning: 'A user ended one of their sessions',
    example: session({ sessions: 1 }),
  },
  'auth.session_ended': {
    meaning:
      'The oldest session of a user was ended by a sign-in, because a user can have at most 50',
    example: session(null),
  },
  'auth.key_rotated': { meaning: 'A new key signs the access tokens' },
  'access.refused': {
    meaning:
      'A signed-in user called an operation that is not allowed for them. The calls of a minute are counted together',
  },
  'audit.exported': { meaning: 'An export of the audit log started, was completed or was aborted' },
  'audit.tampering_found': {
    meaning: 'The verification found that the audit log was altered',
  },
  'audit.anchored': {
    meaning: 'The sizes and roots of the transparency logs that grew were recorded',
  },
  'audit.erased': { meaning: 'The personal fields of entries were erased by an order' },
  'audit.pruned': { meaning: 'Entries past their retention were archived and removed' },
  'audit.epoch_started': {
    meaning:
      'An older copy replaced the database, so the transparency log of the tenant continues in a new epoch',
  },
  'audit.key_rotated': { meaning: 'A new key signs the heads of the audit logs' },
  'preferences.updated': { meaning: "A user's theme or settings changed" },
  'messenger.linked': { meaning: 'A messenger chat was linked to an account' },
  'messenger.unlinked': { meaning: 'A messenger chat was unlinked from its account' },
  'messenger.subscribed': {
    meaning: 'A user chose the events that the messenger notifies them of',
  },
  'webhook.registered': { meaning: 'A webhook was registered' },
  'webhook.updated': { meaning: "A webhook's address, events, secret or state changed" },
  'webhook.deleted': { meaning: 'A webhook was deleted with its waiting deliveries' },
  'webhook.disabled': {
    meaning:
      'The service deactivated a webhook, because its receiver failed for too long or no longer exists',
  },
  'webhook.delivery_retried': { meaning: 'A delivery was retried by hand' },
  'webhook.replayed': { meaning: 'The events of a period were queued for a webhook again' },
  'webhook.secrets_withdrawn': {
    meaning: 'The previous secrets of a webhook were withdrawn',
  },
  'webhook.replay_cancelled': {
    meaning: 'A replay was cancelled and its waiting deliveries were removed',
  },
  'payment.updated': {
    meaning: 'A payment is pending or authorized, or its amount changed before it was completed',
    example: payment(null, authorized),
  },
  'payment.succeeded': { meaning: 'A payment was completed', example: payment(authorized, paid) },
  'payment.failed': {
    meaning: 'A payment failed. Another attempt may follow',
    example: payment(authorized, { ...authorized, status: 'failed' }),
  },
  'payment.canceled': {
    meaning: 'A payment was canceled before it was completed',
    example: payment(authorized, { ...authorized, status: 'canceled' }),
  },
  'payment.refunded': {
    meaning: 'A payment was refunded, fully or in part',
    example: payment(paid, {
      ...paid,
      status: 'partially_refunded',
      amount_refunded: 2_500,
    }),
  },
  'patient.read': { meaning: "A patient's record was read" },
  'patient.listed': { meaning: 'Patients were shown in a list' },
  'patient.searched': {
    meaning: 'Patients were searched for. Records which were found, never the search term',
  },
  'patient.exported': { meaning: "A patient's record was exported" },
  'payment_notification.read': {
    meaning: "A payment provider's notification was read, with its body",
  },
  'payment_notification.processed': {
    meaning: "A payment provider's notification was retried by hand",
  },
  'payment_notification.discarded': { meaning: 'Unverified payment notifications were deleted' },
  'patient.created': {
    meaning: 'A patient was created',
    example: patient({ fields: ['full_name'] }),
  },
  'patient.updated': {
    meaning: "A patient's record was changed. Records which fields, but not their values",
    example: patient({ fields: ['phone', 'address'] }),
  },
  'patient.deleted': {
    meaning: 'A patient was deleted. The record can be restored until it is purged',
    example: patient(null, ADMIN),
  },
  'patient.restored': { meaning: 'A deleted patient was restored', example: patient(null, ADMIN) },
  'patient.purged': { meaning: 'The record of a deleted patient was permanently destroyed' },
  'patient.break_glass': {
    meaning:
      'A user opened the record of a patient with break-glass (emergency access) for four hours',
    example: patient({ purpose: 'emergency', grant_id: 7 }),
  },
  'backup.created': {
    meaning: 'A backup was created and verified',
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
    meaning:
      'A backup could not be created or restored, failed its test restore, or is no longer usable',
    example: backup({
      type: 'tenant',
      reason: 'request',
      error: 'The process ended before the job was completed. Start the job again.',
    }),
  },
  'backup.verified': {
    meaning: 'A backup was verified: its file was read, or a test restored it',
    example: backup({ type: 'full', drill_seconds: 42, records: 182_044 }),
  },
  'backup.rewritten': {
    meaning: 'A backup was rewritten without purged tenants',
    example: backup({ type: 'full', reason: 'schedule', records: 182_044, forgotten: [7] }),
  },
  'backup.restored': {
    meaning: 'A tenant was restored from a backup',
    example: backup({
      type: 'tenant',
      access: 'merged',
      safety_backup_id: '5d3c0f52-8a3f-4c1e-bb53-0f6b2a1e9c77',
    }),
  },
  'backup.downloaded': {
    meaning: 'The file of a backup was downloaded, in whole or in part',
    example: backup({ type: 'tenant' }),
  },
  'backup.deleted': {
    meaning: 'A backup and its file were deleted',
    example: backup({ type: 'tenant', created_at: '2026-11-21T12:00:00.000Z' }),
  },
  'encryption.rotation_started': {
    meaning: 'New keys encrypt from now on, and existing data is being re-encrypted',
    example: rotation({ key_id: 2, records_total: 182_044 }),
  },
  'encryption.rotation_completed': {
    meaning: 'All data is encrypted with the new keys, and the old keys were destroyed',
    example: rotation({ key_id: 2, records_done: 182_044 }, null),
  },
  'encryption.rotation_failed': {
    meaning:
      'Some records could not be decrypted or written. They keep their old keys, which are not destroyed',
    example: rotation({ key_id: 2, records_done: 182_043, records_failed: 1 }, null),
  },
  'self_healing.proposed': {
    meaning: 'A fault was found whose repair has to be confirmed or made by hand',
    example: fix({ ...oneDepartment, occurrences: 1 }),
  },
  'self_healing.applied': {
    meaning: 'A fault was repaired and is no longer found',
    example: tried({ status: 'applied', occurrences: 0 }, 1),
  },
  'self_healing.failed': {
    meaning: 'The repair of a fault failed, or the fault was found again after the repair',
    example: tried({ status: 'failed', occurrences: 1 }, 0),
  },
  'self_healing.deleted': {
    meaning: 'A fix was removed from the catalogue. The service no longer scans for its fault',
    example: fix({ key: 'departments.head' }, SUPERADMIN),
  },
  'self_healing.seeded': {
    meaning: 'Built-in fixes were added to the catalogue or reset',
    example: {
      ...fix({ created: 1, updated: 0, overwrite: false }, SUPERADMIN),
      resource_id: null,
    },
  },
  'encryption.root_key_rotated': {
    meaning: 'The root key was replaced. The service now requires the new root key',
    example: about(
      'encryption',
      '9f86d081884c7d65',
      SUPERADMIN,
    )({ before: { root_key: '2c26b46b68ffc68f' }, after: { root_key: '9f86d081884c7d65' } }, null),
  },
  'encryption.root_key_destroyed': {
    meaning: 'A root key was destroyed, because no backup needs it or because it was lost',
    example: about(
      'encryption',
      '2c26b46b68ffc68f',
      SUPERADMIN,
    )({ root_key: '2c26b46b68ffc68f', backups_since: '2026-11-21T12:00:00.000Z' }, null),
  },
  'webhook.test': { meaning: 'A test event was sent to a webhook', example: webhook() },
} as const satisfies Record<string, { meaning: string; example?: ActionExample }>

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
] as const

/** Accesses to patient records that change nothing. They are in the audit log, but they are not events. */
export const ACCESSES = [
  'patient.read',
  'patient.listed',
  'patient.searched',
  'patient.exported',
] as const satisfies readonly Action[]

/** Actions of public groups that are not events, because no webhook could receive them or because they are accesses. */
const INTERNAL = [
  'auth.key_rotated',
  'tenant.purged',
  'patient.purged',
  ...ACCESSES,
] as const satisfies readonly Action[]

/** An action that webhooks and the messenger can subscribe to. */
export type PublicAction = Exclude<
  Extract<Action, `${(typeof PUBLIC_GROUPS)[number]}.${string}` | 'webhook.test'>,
  (typeof INTERNAL)[number]
>

/** Returns true for events, by group, so that an older node also delivers actions of a newer release. */
export function isPublic(action: string): boolean {
  if (INTERNAL.some((internal) => internal === action)) return false
  return action === 'webhook.test' || PUBLIC_GROUPS.some((group) => action.startsWith(`${group}.`))
}

/** The public actions of this release. */
export const PUBLIC_ACTIONS: readonly PublicAction[] = (Object.keys(ACTIONS) as Action[]).filter(
  (action): action is PublicAction => isPublic(action),
)

/** A type check: every public action must have an example. */
ACTIONS satisfies Record<PublicAction, { example: ActionExample }>
