/** The variables of backups. */
import { isRecipient } from './lib/age-recipient.ts'
import { list, variable } from './variable.ts'

export const BACKUP_VARIABLES = {
  BACKUP_DIR: variable({
    meaning: 'folder of the backups; with several nodes one that they share',
    default: '`backups` in DATA_DIR',
    read: (text) => text,
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
