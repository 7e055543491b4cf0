/**
 * Extends a tenant's purge to the backup store: writes a note that outlives the database, and deletes the tenant's own
 * backups. The database records the pending work, so that it is retried if the store was unreachable.
 */

import { MINUTE } from '../../../lib/clock.ts'
import { poller } from '../../../lib/poller.ts'
import { logFailures, type Scopes } from '../../../platform/db/index.ts'
import type { Background } from '../../../platform/feature/feature.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { BackupKeys } from '../file/identity.ts'
import { backupIdOf, sidecarName } from '../file/names.ts'
import type { Store, StoredObject } from '../stores/store.ts'
import { listUnerased, type Purged, saveErased } from './erase.store.ts'
import { leaveNote } from './purge-notes.ts'
import { type NoteDeps, noteRecords } from './purged-records.ts'
import { type UnlistedBackup, unknownIn } from './unlisted-backups.ts'

const POLL_MS = 5 * MINUTE

export interface EraseDeps {
  db: Scopes
  store: Store
  backupKeys: BackupKeys
  log: Logger
}

/** Polls for purges that are not yet recorded in the store. Runs until it is stopped. */
export function startErasing(deps: EraseDeps & NoteDeps): Background {
  const stopping = new AbortController()
  const polling = poller(
    async () => {
      await erasePurged(deps, stopping.signal)
      await noteRecords(deps, stopping.signal)
      return false
    },
    {
      clock: deps.db.clock,
      pollMs: POLL_MS,
      onError: logFailures('erasure of purged data from backups', deps.log),
    },
  )
  return {
    idle: polling.idle,
    stop() {
      stopping.abort()
      return polling.stop()
    },
  }
}

/** Records every pending purge in the store. @throws the first store error, after trying all tenants */
export async function erasePurged(deps: EraseDeps, signal: AbortSignal): Promise<void> {
  const { db, log } = deps
  const failures: unknown[] = []
  const unerased = await db.acrossTenants(listUnerased, 'read')
  if (unerased.length === 0) return
  const unknown = await unknownIn(deps)
  for (const purged of unerased) {
    if (signal.aborted) return
    try {
      const left = await erase(deps, purged, unknown, signal)
      if (left.length > 0)
        throw new Error(
          `the store still has ${left.length} locked objects of backups of tenant ${purged.tenant_id}`,
        )
      await db.acrossTenants((tx) => saveErased(tx, purged.tenant_id))
      log.info({ tenant: purged.tenant_id }, 'tenant purge recorded in the backup store')
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}

/**
 * Writes the note of a purged tenant and deletes the tenant's own backups. Returns the names of objects that the store
 * did not delete, for example because they are locked.
 * @param unknown backups that are in the store but not in the database, for example after the database was lost
 */
export async function erase(
  { store, backupKeys }: Pick<EraseDeps, 'store' | 'backupKeys'>,
  purged: Purged,
  unknown: readonly UnlistedBackup[],
  signal: AbortSignal,
): Promise<string[]> {
  await leaveNote(store, backupKeys, purged, signal)
  const backups = [...purged.backups, ...ownOf(purged, unknown)]
  const isOwn = ({ name }: StoredObject) =>
    backups.some((id) => backupIdOf(name) === id || name === sidecarName(id))
  // Deletes files before list entries, because only a list entry shows the tenant of a file.
  for (const { name } of (await store.list()).filter(isOwn))
    if (backupIdOf(name) !== undefined) await store.delete(name)
  const left = (await store.list()).filter(isOwn).map(({ name }) => name)
  if (left.some((name) => backupIdOf(name) !== undefined)) return left
  for (const id of backups) await store.delete(sidecarName(id))
  return (await store.list()).filter(isOwn).map(({ name }) => name)
}

const ownOf = ({ tenant_id, installation }: Purged, unknown: readonly UnlistedBackup[]): string[] =>
  unknown.flatMap(({ id, entry }) => {
    if (typeof entry === 'string' || entry.backup_id !== id || entry.type !== 'tenant') return []
    return entry.tenant_id === tenant_id && entry.installation === installation ? [id] : []
  })
