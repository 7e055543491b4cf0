/** What the root key alone can do, without the service's database. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { StartupError } from '../../../lib/startup-error.ts'
import { fingerprintOf } from '../../../platform/crypto/index.ts'
import { type DrillDeps, drill } from '../drill/drill.ts'
import { type Header, recordsOf } from '../file/format.ts'
import { keeperBy } from '../file/identity.ts'
import { readBackup } from '../file/read.ts'
import { folderStore } from '../stores/folder.ts'
import { inWords } from './in-words.ts'

export interface Keys {
  /** Of those that there are: the current one first. */
  rootKeys: readonly [Uint8Array, ...Uint8Array[]]
  /** Of the operator's, beside the service's own. */
  recipients: readonly string[]
}

/**
 * The identity that opens the backups, as `age -d -i` takes it: its comments are part of such a file.
 */
export async function backupIdentity(keys: Keys): Promise<string> {
  const { identity, recipients } = await keeperBy(keys.rootKeys, keys.recipients)
  return `\
# The identity of Wardkeep's backups, derived from root key ${fingerprintOf(keys.rootKeys[0])}. It opens every backup that a service
# with this root key makes or has made, whatever BACKUP_AGE_RECIPIENT says: keep it as safe as that key.
# Each backup is made for: ${recipients.join(', ')}
${identity}`
}

/** How a file is drilled. */
export type Trial = Omit<DrillDeps, 'keeper'>

/**
 * Reads a backup's file to its end, or drills it.
 * @returns what it is, and the seconds that the drill took
 * @throws StartupError where it is not whole, or can not be restored
 */
export async function verifyBackupFile(path: string, keys: Keys, trial?: Trial) {
  const { size } = await stat(path).catch(() => {
    throw new StartupError(`${path} is neither the id of a backup nor a file.`)
  })
  const keeper = await keeperBy(keys.rootKeys, keys.recipients)
  const file = createReadStream(path)
  if (trial) {
    const stores = [...trial.stores, folderStore(dirname(path))]
    const { header, records, seconds } = await inWords(
      drill(file, size, { ...trial, stores, keeper }),
    )
    return { ...told(header), records, size_bytes: size, drill_seconds: seconds }
  }
  const { header, manifest } = await inWords(readBackup(file, keeper, {}))
  return { ...told(header), records: recordsOf(manifest), size_bytes: size }
}

const told = ({ backup_id, type, tenant_id, created_at, schema_version }: Header) => ({
  backup_id,
  type,
  tenant_id,
  created_at,
  schema_version,
})
