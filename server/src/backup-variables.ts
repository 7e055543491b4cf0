/** The variables of backups. */
import { isRecipient } from './lib/age-recipient.ts'
import { parseCron } from './lib/cron.ts'
import { integer, list, variable } from './variable.ts'

export const BACKUP_VARIABLES = {
  BACKUP_DIR: variable({
    meaning: 'folder of the backups; with several nodes one that they share',
    default: '`backups` in DATA_DIR',
    read: (text) => text,
  }),
  BACKUP_SCHEDULE: variable({
    meaning:
      'when a backup of everything is made by itself: a cron expression in UTC, such as `30 2 * * *`',
    default: 'none: in production the health report says so',
    read: (text) => (text === undefined ? undefined : parseCron(text)),
  }),
  BACKUP_DRILL_SCHEDULE: variable({
    meaning:
      'when the newest backup of everything is restored into a server that is thrown away, to prove that it can be: a cron expression in UTC; it takes room in DATA_DIR',
    default: 'none',
    read: (text) => (text === undefined ? undefined : parseCron(text)),
  }),
  BACKUP_KEEP: variable({
    meaning:
      'backups that are kept of everything, and of each tenant for itself; older ones are deleted once a newer one is proven',
    default: '7',
    read: integer(7, 1, 10_000),
  }),
  BACKUP_AGE_RECIPIENT: variable({
    meaning:
      "age recipients `age1…`, separated by commas, that can open the backups beside the service's own identity",
    default: 'none',
    read: (text = '') => recipients(text),
  }),
}

/** Native X25519 recipients of age: bech32, whose checksum the first backup would find wrong too late. */
function recipients(text: string): string[] {
  const all = list(text)
  if (!all.every(isRecipient)) throw new Error('must be age recipients such as age1…')
  return all
}
