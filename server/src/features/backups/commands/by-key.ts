/** What the root key alone can do, without any database. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { StartupError } from '../../../lib/startup-error.ts'
import { keysFrom } from '../../../platform/crypto/index.ts'
import { openKeeper } from '../file/identity.ts'
import { readBackup } from '../file/read.ts'
import { inWords } from './in-words.ts'

export interface Keys {
  rootKey: Uint8Array
  /** Of the operator's, beside the service's own. */
  recipients: readonly string[]
}

/**
 * The identity that opens the backups, as `age -d -i` takes it: its comments are part of such a file.
 */
export async function backupIdentity(keys: Keys): Promise<string> {
  const { identity, recipients } = await openKeeper(keysFrom(keys.rootKey), keys.recipients)
  return `\
# The identity of Wardkeep's backups, derived from its root key. It opens every backup that a service
# with this root key makes or has made, whatever BACKUP_AGE_RECIPIENT says: keep it as safe as that key.
# Each backup is made for: ${recipients.join(', ')}
${identity}`
}

/** Reads a backup's file to its end. Returns what it is. @throws StartupError where it is not whole */
export async function verifyBackupFile(path: string, keys: Keys) {
  const { size } = await stat(path).catch(() => {
    throw new StartupError(`${path} is neither the id of a backup nor a file.`)
  })
  const keeper = await openKeeper(keysFrom(keys.rootKey), keys.recipients)
  const { header, manifest } = await inWords(readBackup(createReadStream(path), keeper, {}))
  const { backup_id, type, tenant_id, created_at, schema_version } = header
  const records = Object.values(manifest.tables).reduce((sum, { rows }) => sum + rows, 0)
  return { backup_id, type, tenant_id, created_at, schema_version, records, size_bytes: size }
}
