import { formatCount, formatNumber } from '../../words/numbers.ts'

const records = (count: number) =>
  count >= 10_000 ? 'At least 10,000 records' : formatCount(count, 'record', 'records')

/** Texts of the page "Encryption". */
export const encryptionTexts = {
  title: 'Encryption',
  since: (label: string) => `${label}, since`,
  keys: {
    title: 'Current keys',
    root: 'Root key',
    rootHint: 'From the configuration. It encrypts the key-encryption key.',
    kek: 'Key-encryption key',
    kekHint: 'It encrypts the data keys.',
    number: (id: number) => `Number ${id}`,
    data: 'Data keys',
    dataHint: 'They encrypt new values of the fields. Every clinic has its own.',
    current: (count: number) => formatCount(count, 'key', 'keys'),
    created: 'Created',
    oldest: 'Oldest created',
    former: (count: number) =>
      `${formatCount(count, 'former root key is', 'former root keys are')} still stored, for old backups.`,
  },
  proof: {
    title: 'Old keys',
    clean: 'Nothing is left on old keys',
    cleanBody: 'No record uses an old key, and no old key is stored.',
    left: (count: number) => `${records(count)} on old keys`,
    stored: (count: number) => formatCount(count, 'old key is stored', 'old keys are stored'),
    leftBody: 'The old keys are destroyed when nothing uses them. A rotation re-encrypts the rest.',
    storedBody:
      'No record uses the old keys. They came from a backup. The next rotation destroys them.',
    running: 'A rotation is running',
    runningBody: 'It destroys the old keys at its end, when no record uses them.',
    destroyed: 'Destroyed so far',
    destroyedCounts: (data: number, keks: number) =>
      `${formatCount(data, 'data key', 'data keys')}, ${formatCount(keks, 'key-encryption key', 'key-encryption keys')}`,
    last: 'Last destroyed',
  },
  rotation: {
    title: 'Rotation',
    never: 'The keys have never been rotated.',
    last: 'Last rotation:',
    result:
      'The rotation is over. Every record was re-encrypted, and the old keys were destroyed. Backups from before still contain them.',
    undone:
      'The rotation is over, but a restored backup has brought old keys back since. Rotate the keys again.',
    rate: (rate: number) => `${formatNumber(Math.round(rate))} records per second`,
    waits: 'The rotation waits for a database connection to end',
    waitsBody: (application: string, pid: number) =>
      `All records are re-encrypted, but an older transaction may still use the old keys: ${application || 'an unnamed program'}, process ${pid}. End that program, or wait.`,
    open: 'Open since',
    rotate: 'Rotate keys',
    resume: 'Resume rotation',
    word: 'rotate',
    body: 'Creates new keys and re-encrypts every record in the background, while people work. The old keys are destroyed at the end. A rotation cannot be cancelled.',
    resumeBody:
      'Continues the rotation that failed. Records that are re-encrypted already are not repeated.',
    backups: 'Make a full backup afterwards. Older backups still contain the old keys.',
    started: 'The rotation has started.',
  },
  history: {
    title: 'History',
    status: 'Status',
    started: 'Started',
    by: 'By',
    records: 'Records',
    took: 'Took',
    service: 'the service',
    none: 'No rotation yet.',
  },
}
