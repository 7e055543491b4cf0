import { formatDate, formatDayClock, formatDuration } from '../../words/dates.ts'
import { formatCount } from '../../words/numbers.ts'

const reasons: Readonly<Record<string, string>> = {
  request: 'On request',
  schedule: 'By the schedule',
  safety: 'Before a restore',
}

/** Texts of the page "Backups". */
export const backupTexts = {
  title: 'Backups',
  created: 'Created',
  contents: 'Contents',
  allClinics: 'All clinics',
  clinic: (name: string) => name,
  size: 'Size',
  noSize: '–',
  state: 'State',
  proven: 'Proven',
  restoredIn: (seconds: number) => `Restored in a test in ${formatDuration(seconds)}`,
  verified: 'File verified',
  notProven: 'Not yet',
  kept: 'Kept',
  keptUntil: (at: Date) => `At least until ${formatDate(at)}`,
  keptForNow: 'Until newer backups replace it',
  backupOf: (at: Date) => `Backup of ${formatDayClock(at)}`,
  lastTested: (seconds: number) =>
    `is the last proven backup. A test restored it in ${formatDuration(seconds)}.`,
  lastVerified:
    'is the last verified backup. Its whole file was read, but no test has restored it.',
  noneProven: 'No backup is proven yet.',
  emptyTitle: 'No backups yet',
  empty: 'A backup contains all data at one moment, in an encrypted file.',
  panel: 'Backup',
  unknownTitle: 'Backup not found',
  unknown: 'This backup was deleted, or it belongs to another clinic.',
  records: 'Records',
  recordCount: (count: number) => formatCount(count, 'record', 'records'),
  reason: 'Made',
  reasonOf: (reason: string) => reasons[reason] ?? reason,
  checksum: 'SHA-256',
  copyChecksum: 'Copy the checksum',
  fault: 'Fault',
  create: {
    open: 'Back up now',
    all: 'Back up all clinics',
    one: (name: string) => `Back up only ${name}`,
    done: 'The backup is complete. Its file was read back and verified.',
  },
  test: {
    open: 'Test now',
    done: 'The test restored the backup completely. No data was changed.',
  },
  job: {
    close: 'Hide',
    working: 'Work on backups',
  },
  download: {
    open: 'Download',
    title: 'Download backup',
    body: 'The file is encrypted. Only the age identity of your backups can open it. The download is recorded in the audit log.',
    done: 'The browser is downloading the backup.',
  },
  remove: {
    open: 'Delete',
    title: 'Delete backup',
    body: 'The backup and its file are deleted. They do not come back.',
    last: 'This is the last proven backup.',
    done: 'Deleted the backup.',
  },
  restore: {
    open: 'Restore…',
    running: 'A restore is running',
    show: 'Show its progress',
    by: (email: string) => `Started by ${email}.`,
  },
}
