/** Maps each action of the journal to a class and an activity of OCSF 1.8.0. A test compares the table in the documents. */
import type { Action } from '../../../platform/journal/index.ts'

/** The classes in use, with their identifiers and activities (OCSF 1.8.0, categories 3 and 6). */
export const CLASSES = {
  account_change: {
    uid: 3001,
    name: 'Account Change',
    category: 3,
    activities: {
      1: 'Create',
      2: 'Enable',
      3: 'Password Change',
      4: 'Password Reset',
      5: 'Disable',
      6: 'Delete',
      10: 'MFA Factor Enable',
      11: 'MFA Factor Disable',
    },
  },
  authentication: {
    uid: 3002,
    name: 'Authentication',
    category: 3,
    activities: { 1: 'Logon', 2: 'Logoff' },
  },
  entity_management: {
    uid: 3004,
    name: 'Entity Management',
    category: 3,
    activities: {
      1: 'Create',
      2: 'Read',
      3: 'Update',
      4: 'Delete',
      8: 'Enable',
      9: 'Disable',
    },
  },
  api_activity: {
    uid: 6003,
    name: 'API Activity',
    category: 6,
    activities: { 2: 'Read' },
  },
} as const satisfies Record<string, OcsfClass>

interface OcsfClass {
  uid: number
  name: string
  category: number
  activities: Readonly<Record<number, string>>
}

export type OcsfClassName = keyof typeof CLASSES

/** The activity of an event that the schema does not define. Its name is then free. */
export const OTHER_ACTIVITY = 99

export const SEVERITIES = { 1: 'Informational', 2: 'Low', 3: 'Medium', 4: 'High' } as const
export type Severity = keyof typeof SEVERITIES

export interface Mapping {
  class: OcsfClassName
  activity: number
  activityName: string
  severity: Severity
  isFailure: boolean
}

interface Judgement {
  severity?: Severity
  isFailure?: boolean
}

/** @param activity the identifier of an activity of the class, or the name of another activity */
const mapTo =
  (name: OcsfClassName) =>
  (activity: number | string, { severity = 1, isFailure = false }: Judgement = {}): Mapping => {
    const { activities }: OcsfClass = CLASSES[name]
    return {
      class: name,
      activity: typeof activity === 'number' ? activity : OTHER_ACTIVITY,
      activityName: typeof activity === 'number' ? (activities[activity] ?? '') : activity,
      severity,
      isFailure,
    }
  }

const account = mapTo('account_change')
const authentication = mapTo('authentication')
const entity = mapTo('entity_management')
const api = mapTo('api_activity')

const LOW = { severity: 2 } as const
const MEDIUM = { severity: 3 } as const
const HIGH = { severity: 4 } as const
const FAILED = { isFailure: true } as const

const IAM: Record<Extract<Action, `${'user' | 'auth'}.${string}`>, Mapping> = {
  'user.created': account(1),
  'user.updated': account('Update'),
  'user.deleted': account(6, LOW),
  'user.blocked': account(5, LOW),
  'user.unblocked': account(2),
  'user.role_changed': account('Role Change', MEDIUM),
  'user.password_changed': account(3, LOW),
  'user.sessions_ended': authentication(2, LOW),
  'user.registered': account(1),
  'user.invited': account('Invite'),
  'user.email_verified': account('Verify E-mail Address'),
  'auth.verification_sent': account('Send Verification'),
  'auth.reset_requested': account(4, LOW),
  'auth.totp_offered': account('MFA Factor Setup'),
  'auth.totp_enabled': account(10),
  'auth.totp_disabled': account(11, MEDIUM),
  'auth.login': authentication(1),
  'auth.login_failed': authentication(1, { ...LOW, ...FAILED }),
  'auth.token_refreshed': authentication('Token Refresh'),
  'auth.refresh_reused': authentication('Refresh Token Reuse', { ...HIGH, ...FAILED }),
  'auth.logout': authentication(2),
  'auth.session_confirmed': authentication('Session Confirmation'),
  'auth.session_revoked': authentication(2),
  'auth.session_ended': authentication(2),
  'auth.key_rotated': entity('Rotate Key', LOW),
}

/** The mapping of every action. TypeScript rejects an action without a mapping. */
export const MAPPINGS: Readonly<Record<Action, Mapping>> = {
  ...IAM,
  'tenant.created': entity(1),
  'tenant.updated': entity(3),
  'tenant.activated': entity(8, LOW),
  'tenant.deactivated': entity(9, MEDIUM),
  'tenant.deleted': entity(4, MEDIUM),
  'tenant.purged': entity('Purge', MEDIUM),
  'tenant.restored': entity('Restore', LOW),
  'job.cancelled': entity('Cancel'),
  'outbound.released': entity('Release', MEDIUM),
  'database.writes_lost': entity('Data Loss', { ...HIGH, ...FAILED }),
  'department.created': entity(1),
  'department.updated': entity(3),
  'department.deleted': entity(4),
  'access.refused': api('Refuse', { ...LOW, ...FAILED }),
  'audit.exported': entity('Export', LOW),
  'audit.anchored': entity('Anchor'),
  'audit.erased': entity('Erase', MEDIUM),
  'audit.pruned': entity('Delete', MEDIUM),
  'audit.epoch_started': entity('Epoch Start', { ...HIGH, ...FAILED }),
  'audit.key_rotated': entity('Rotate Key', MEDIUM),
  'audit.tampering_found': entity('Detect Tampering', HIGH),
  'preferences.updated': entity(3),
  'messenger.linked': account('Link Messenger'),
  'messenger.unlinked': account('Unlink Messenger'),
  'messenger.subscribed': entity(3),
  'webhook.registered': entity(1, LOW),
  'webhook.updated': entity(3, LOW),
  'webhook.deleted': entity(4, LOW),
  'webhook.disabled': entity(9, MEDIUM),
  'webhook.delivery_retried': entity('Retry'),
  'webhook.replayed': entity('Replay', LOW),
  'webhook.secrets_withdrawn': entity('Withdraw Secrets', LOW),
  'webhook.replay_cancelled': entity('Cancel'),
  'webhook.test': entity('Test'),
  'payment.updated': entity(3),
  'payment.succeeded': entity(3),
  'payment.failed': entity(3, FAILED),
  'payment.canceled': entity(3),
  'payment.refunded': entity(3),
  'patient.read': api(2),
  'patient.listed': api(2),
  'patient.searched': api(2),
  'patient.exported': api(2, LOW),
  'payment_notification.read': entity(2, LOW),
  'payment_notification.processed': entity('Retry'),
  'payment_notification.discarded': entity(4, LOW),
  'patient.created': entity(1),
  'patient.updated': entity(3),
  'patient.deleted': entity(4, LOW),
  'patient.restored': entity('Restore', LOW),
  'patient.purged': entity('Purge', LOW),
  'patient.break_glass': entity('Break Glass', MEDIUM),
  'backup.created': entity(1),
  'backup.failed': entity('Backup Failure', { ...MEDIUM, ...FAILED }),
  'backup.verified': entity('Verify'),
  'backup.rewritten': entity('Rewrite', LOW),
  'backup.restored': entity('Restore', MEDIUM),
  'backup.downloaded': entity('Download', MEDIUM),
  'backup.deleted': entity(4, MEDIUM),
  'encryption.rotation_started': entity('Start Rotation', LOW),
  'encryption.rotation_completed': entity('Complete Rotation', LOW),
  'encryption.rotation_failed': entity('Rotation Failure', { ...HIGH, ...FAILED }),
  'encryption.root_key_rotated': entity('Rotate Key', MEDIUM),
  'encryption.root_key_destroyed': entity('Destroy Key', MEDIUM),
  'self_healing.proposed': entity('Propose Repair', LOW),
  'self_healing.applied': entity('Repair', LOW),
  'self_healing.failed': entity('Repair Failure', { ...MEDIUM, ...FAILED }),
  'self_healing.deleted': entity(4, LOW),
  'self_healing.seeded': entity('Reset', LOW),
}

/** The mapping of actions of a newer release, which another node may have written. */
const UNKNOWN_ACTION = entity('Unknown Action')

export const mappingOf = (action: string): Mapping =>
  (MAPPINGS as Record<string, Mapping>)[action] ?? UNKNOWN_ACTION
