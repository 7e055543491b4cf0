import { formatCount } from '../../words/numbers.ts'

const people = (count: number) => formatCount(count, 'person is', 'people are')

/** Texts of the overview. */
export const overviewTexts = {
  title: 'Overview',
  missing: (parts: string) => `Not available right now: ${parts}.`,
  about: (text: string) => `≈ ${text}`,
  needs: {
    title: 'Needs attention',
    nothing: 'Nothing needs your attention.',
    review: 'Review',
    open: 'Open',
    action: (act: string, title: string) => `${act}: ${title}`,
    registrations: (count: number) => `${people(count)} waiting for approval`,
    oldest: 'Oldest:',
    webhook: {
      failing: 'A webhook is failing',
      deactivated: 'A webhook was deactivated because it kept failing',
      gone: 'A webhook was deactivated because its receiver is gone',
    },
    since: 'First failure:',
    moreWebhooks: (count: number) =>
      formatCount(count, 'more webhook is failing', 'more webhooks are failing'),
    backupLate: 'The last verified backup is too old',
    noBackup: 'No backup has been verified',
    backupOf: 'Made:',
    backupHelp: 'Two planned backups in a row are missing.',
    repairs: (count: number) =>
      formatCount(count, 'fault needs a decision', 'faults need a decision'),
    repairsOfClinic: (count: number) =>
      formatCount(count, 'fault waits for a superadmin', 'faults wait for a superadmin'),
    jobs: {
      create: 'A backup failed',
      restore: 'A restore failed',
      forget: 'Erasing a clinic from backups failed',
    },
    moreJobs: (count: number) =>
      formatCount(count, 'more backup job failed', 'more backup jobs failed'),
    installation: 'Whole installation.',
    rotation: 'The rotation of keys failed',
    oldKeys: 'Records use old keys again',
    oldKeysBody: 'A restored backup has brought the old keys back. Rotate the keys.',
    health: (count: number) =>
      formatCount(
        count,
        'part of the service needs attention',
        'parts of the service need attention',
      ),
    unverified: (count: number) =>
      formatCount(
        count,
        'payment notification could not be verified',
        'payment notifications could not be verified',
      ),
    failedPayments: (count: number) =>
      formatCount(count, 'payment notification failed', 'payment notifications failed'),
  },
  figures: {
    signIns: 'Sign-ins',
    refused: 'Sign-ins refused',
    delivered: 'Messages delivered',
    changes: 'Changes',
    backup: 'Tested backup',
    verifiedBackup: 'Verified backup',
    tested: 'All clinics, restored in a test',
    verified: 'All clinics, not yet restored in a test',
    noBackup: 'None yet',
    late: 'Too old',
    unknown: 'Not available',
  },
  clinic: {
    users: (count: string, value: number) => `${count} active ${value === 1 ? 'person' : 'people'}`,
    departments: (count: string, value: number) =>
      `${count} ${value === 1 ? 'department' : 'departments'}`,
    patients: (count: string, value: number) => `${count} ${value === 1 ? 'patient' : 'patients'}`,
    webhooks: (count: number) => formatCount(count, 'active webhook', 'active webhooks'),
    waiting: (count: number) =>
      `${count >= 1_000 ? 'at least ' : ''}${formatCount(count, 'message waiting', 'messages waiting')}`,
  },
  charts: {
    signIns: 'Sign-ins',
    deliveries: 'Webhook deliveries',
  },
  health: {
    title: 'Health',
    allOk: 'All systems OK',
    attention: (count: number) => formatCount(count, 'needs attention', 'need attention'),
    since: 'Began',
    runbook: 'Runbook:',
  },
  changes: {
    title: 'Latest changes',
    all: 'Audit log',
    none: 'Nothing has changed yet.',
    unknown: 'Not available',
    by: 'by',
    service: 'the service',
    backupTested: 'Backup tested',
  },
}

/** The names of the parts that may be missing from the overview. */
export const partNames: Readonly<Record<string, string>> = {
  'attention.registrations': 'registrations',
  'attention.webhooks': 'failing webhooks',
  'attention.backups': 'the last backup',
  'attention.backup_jobs': 'failed backup jobs',
  'attention.repairs': 'repairs',
  'attention.key_rotation': 'the rotation of keys',
  'attention.payment_notifications': 'payment notifications',
  'counts.users': 'people',
  'counts.departments': 'departments',
  'counts.patients': 'patients',
  'counts.webhooks': 'webhooks',
  'counts.latest_changes': 'the latest changes',
}

/** A short phrase for each action, for lists. */
export const changeWords: Readonly<Record<string, string>> = {
  'tenant.created': 'Clinic added',
  'tenant.updated': 'Clinic settings changed',
  'tenant.activated': 'Clinic activated',
  'tenant.deactivated': 'Clinic deactivated',
  'tenant.deleted': 'Clinic deleted',
  'tenant.restored': 'Clinic restored',
  'department.created': 'Department added',
  'department.updated': 'Department changed',
  'department.deleted': 'Department deleted',
  'user.created': 'User added',
  'user.updated': 'User changed',
  'user.deleted': 'User deleted',
  'user.blocked': 'User blocked',
  'user.unblocked': 'User unblocked',
  'user.role_changed': 'Role changed',
  'user.password_changed': 'Password changed',
  'user.sessions_ended': 'Sessions ended',
  'user.registered': 'Registration received',
  'user.invited': 'Invitation sent',
  'user.email_verified': 'E-mail address confirmed',
  'webhook.registered': 'Webhook added',
  'webhook.updated': 'Webhook changed',
  'webhook.deleted': 'Webhook deleted',
  'webhook.disabled': 'Webhook deactivated',
  'webhook.delivery_retried': 'Delivery retried',
  'webhook.replayed': 'Events replayed',
  'webhook.test': 'Webhook tested',
  'payment.updated': 'Payment changed',
  'payment.succeeded': 'Payment made',
  'payment.failed': 'Payment failed',
  'payment.canceled': 'Payment canceled',
  'payment.refunded': 'Payment refunded',
  'patient.created': 'Patient added',
  'patient.updated': 'Patient changed',
  'patient.deleted': 'Patient deleted',
  'patient.restored': 'Patient restored',
  'patient.break_glass': 'Break-glass access',
  'backup.created': 'Backup made',
  'backup.failed': 'Backup failed',
  'backup.verified': 'Backup verified',
  'backup.restored': 'Backup restored',
  'backup.downloaded': 'Backup downloaded',
  'backup.deleted': 'Backup deleted',
  'encryption.rotation_started': 'Key rotation started',
  'encryption.rotation_completed': 'Key rotation completed',
  'encryption.rotation_failed': 'Key rotation failed',
  'self_healing.proposed': 'Repair proposed',
  'self_healing.applied': 'Fault repaired',
  'self_healing.failed': 'Repair failed',
}
