import { formatCount } from '../../words/numbers.ts'

const tables: Readonly<Record<string, string>> = {
  tenants: 'Clinics',
  departments: 'Departments',
  users: 'Users',
  second_factors: 'Second factors',
  recovery_codes: 'Recovery codes',
  preferences: 'Preferences',
  patients: 'Patients',
  patient_tokens: 'Search terms of patients',
  webhooks: 'Webhooks',
  webhook_secrets: 'Secrets of webhooks',
  key_encryption_keys: 'Key-encryption keys',
  data_keys: 'Data keys',
}

const subjects: Readonly<Record<string, string>> = {
  users: 'User',
  tenants: 'Clinic',
  webhooks: 'Webhook',
}

const fields: Readonly<Record<string, string>> = {
  deleted: 'was deleted, and comes back blocked',
  is_active: 'stays blocked',
  role: 'keeps the role of today',
  can_see_all_patients: 'does not see more patients than today',
  email: 'keeps the e-mail address of today',
  password: 'keeps the password of today',
  second_factor: 'keeps the second factor of today',
  registration: 'keeps the registration rules of today',
  listed: 'stays hidden',
  require_totp: 'keeps the second-factor rules of today',
  secret: 'keeps the secret of today',
  url: 'is deactivated, because its address changed',
  events: 'is deactivated, because it received fewer events',
}

const words = (technical: string) => technical.replaceAll('_', ' ')

/** Texts of the page "Restore a backup". */
export const restoreTexts = {
  title: 'Restore a backup',
  steps: {
    label: 'Steps',
    choose: 'Choose a backup',
    preview: 'See what would change',
    restore: 'Restore',
  },
  choose: {
    caption: 'Backups that can be restored',
    emptyTitle: 'No backup can be restored',
    empty: 'Only a complete backup can be restored.',
    other: 'Choose another backup',
  },
  unknownTitle: 'Backup not found',
  unknown: 'This backup was deleted, is not complete, or belongs to another clinic.',
  chosen: 'Backup',
  scope: {
    legend: 'What to restore',
    all: 'All clinics',
    one: (name: string) => `Only ${name}`,
    other: 'To restore another clinic, choose it in the top bar first.',
  },
  preview: {
    open: 'Preview the changes',
    again: 'Preview again',
    done: 'The preview is complete. Nothing has been changed yet.',
    explanation: 'A preview reads the whole backup and changes nothing. You can cancel it.',
    changes: 'Changes by table',
    table: 'Table',
    added: 'Added',
    changed: 'Changed',
    removed: 'Removed',
    nothing: 'Nothing would change. The data is the same as in the backup.',
    nothingChanged: 'Nothing was different from the backup.',
    unchanged: (count: number, isPreview: boolean) =>
      isPreview
        ? `${formatCount(count, 'table stays', 'tables stay')} as today.`
        : `${formatCount(count, 'other table', 'other tables')} did not change.`,
    tableName: (table: string) => tables[table] ?? words(table),
  },
  access: {
    title: 'Access that is not brought back',
    none: 'Nobody lost access since the backup.',
    lead: (count: number) =>
      `${formatCount(count, 'record keeps', 'records keep')} the access of today, because it was changed since the backup.`,
    subject: (table: string) => subjects[table] ?? words(table),
    field: (field: string) => fields[field] ?? words(field),
    first: (count: number) => `The first ${formatCount(count, 'record is', 'records are')} listed.`,
  },
  oldKeys: (count: number, isPreview: boolean, isOperator: boolean) =>
    `The keys were rotated after this backup. The restore ${isPreview ? 'would bring' : 'brought'} ${formatCount(count, 'old data key', 'old data keys')} back, and records that were only re-encrypted since count as changed. ${isOperator ? 'Rotate the keys' : 'A superadmin should rotate the keys'}${isPreview ? ' afterwards' : ', unless that was done since'}.`,
  deleted: (count: number, isPreview: boolean) =>
    `${formatCount(count, 'clinic', 'clinics')} added since the backup ${isPreview ? 'would be' : count === 1 ? 'was' : 'were'} deleted. A deleted clinic can be restored.`,
  purged: (count: number, isPreview: boolean) =>
    `${formatCount(count, 'clinic', 'clinics')} of the backup ${isPreview ? 'would not come' : 'did not come'} back, because they were deleted for good.`,
  purgedRecords: (count: number, isPreview: boolean) =>
    `${formatCount(count, 'record', 'records')} of the backup ${isPreview ? 'would not come' : 'did not come'} back, because they were deleted for good.`,
  confirm: {
    open: 'Restore…',
    title: (name: string) => `Restore ${name}`,
    everyone: 'All clinics',
    typedForAll: 'all clinics',
    body: 'Everyone is signed out, including you. Nobody can work until the restore ends.',
    clinicBody: (name: string, isOwn: boolean) =>
      `Everyone in ${name} is signed out${isOwn ? ', including you' : ''}. Nobody there can work until the restore ends.`,
    safety: 'The data of today is kept in a safety backup for at least 7 days.',
    lost: (ago: string) =>
      `Changes since the backup (${ago}) are taken back. Among others, the audit log, payments and the deliveries of webhooks stay as they are today.`,
  },
  progress: {
    maintenance:
      'During the restore, the pages of the clinic do not answer. At its end, everyone whose data was restored has to sign in again, and then sees the result here. You can close this page: the restore continues.',
  },
  result: {
    done: 'Restored',
    doneLead: (isAccessKept: boolean) =>
      `The data is as in the backup${isAccessKept ? ', except the access below' : ''}. Among others, the audit log, payments and the deliveries of webhooks stayed as they were. People have to sign in again.`,
    failed: 'Not restored',
    failedLead: 'Nothing was changed. The data is as before.',
    safety: 'The data from before the restore is in a safety backup.',
    showSafety: 'Show the safety backup',
    toBackups: 'All backups',
    audit: 'Show it in the audit log',
    again: 'Start again',
  },
}
