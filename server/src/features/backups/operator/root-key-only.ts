/** Operations on backup files that need the root key but not the service's database. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StartupError } from '../../../lib/startup-error.ts'
import { fingerprintOf } from '../../../platform/crypto/index.ts'
import { type DrillDeps, drill } from '../drill/drill.ts'
import { type Header, recordsOf } from '../file/format.ts'
import { backupKeysFrom } from '../file/identity.ts'
import { readBackup } from '../file/read.ts'
import { folderStore } from '../stores/folder.ts'
import { inWords } from './problem-sentences.ts'

export interface Keys {
  /** The root keys. The current one comes first. */
  rootKeys: readonly [Uint8Array, ...Uint8Array[]]
  /** The operator's recipients, in addition to the service's own. */
  recipients: readonly string[]
}

/** Returns the age identity that decrypts the backups, with comments, as an identity file for `age -d -i`. */
export async function backupIdentity(keys: Keys): Promise<string> {
  const { identity, recipients } = await backupKeysFrom(keys.rootKeys, keys.recipients)
  return `\
# The age identity of Wardkeep's backups, derived from root key ${fingerprintOf(keys.rootKeys[0])}. It decrypts every backup that a service
# with this root key creates or has created, whatever BACKUP_AGE_RECIPIENT is set to. Keep it as safe as that key.
# Each backup is encrypted for: ${recipients.join(', ')}
${identity}`
}

export type Trial = Omit<DrillDeps, 'backupKeys'>

/**
 * Verifies a backup file. Also restores it into a temporary server if `trial` is passed.
 * @returns the description of the backup and, after a test restore, its duration in seconds
 * @throws StartupError if the file does not exist, is incomplete or cannot be restored
 */
export async function verifyBackupFile(path: string, keys: Keys, trial?: Trial) {
  const { size } = await stat(path).catch(() => {
    throw new StartupError(`${path} is neither the id of a backup nor an existing file.`)
  })
  const backupKeys = await backupKeysFrom(keys.rootKeys, keys.recipients)
  const file = createReadStream(path)
  if (trial) {
    const stores = [...trial.stores, folderStore(dirname(path))]
    const { header, records, seconds } = await inWords(
      drill(file, size, { ...trial, stores, backupKeys }),
    )
    return { ...summaryOf(header), records, size_bytes: size, drill_seconds: seconds }
  }
  const { header, manifest } = await inWords(readBackup(file, backupKeys, {}))
  return { ...summaryOf(header), records: recordsOf(manifest), size_bytes: size }
}

const summaryOf = ({ backup_id, type, tenant_id, created_at, schema_version }: Header) => ({
  backup_id,
  type,
  tenant_id,
  created_at,
  schema_version,
})
