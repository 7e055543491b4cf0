/** Deletes backups beyond BACKUP_KEEP, and files that a crash left in the store. */

import { type Clock, DAY, isoAt } from '../../../lib/clock.ts'
import { lockUntilEnd, type Scopes, type TenantTx } from '../../../platform/db/index.ts'
import type { OutboundHold } from '../../../platform/hold/hold.ts'
import { type JobContext, type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import { SYSTEM } from '../../../platform/journal/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { deleteWithFile } from '../delete-backup.ts'
import { backupIdOf, sidecarName } from '../file/names.ts'
import type { Store } from '../stores/store.ts'
import { destroyUnneededRoots, type RootKeysDeps } from './root-keys.ts'
import { findOutdated, knownOf, type OutdatedBackup } from './schedule.store.ts'

const OUTDATED = jobKind<Record<string, never>>('backups.outdated', { expireInSeconds: 3600 })

/** How long safety backups and the rows of failed backups are kept, regardless of BACKUP_KEEP. */
const ANYWAY_MS = 7 * DAY
/** The minimum age of an orphan. Backups take less time, so an older file without a row belongs to no job. */
const ORPHAN_MS = 2 * DAY

export interface RetentionDeps {
  db: Scopes
  store: Store
  clock: Clock
  log: Logger
  /** The number of full backups to keep, and the number of backups to keep for each tenant. */
  keep: number
}

/**
 * Registers the retention job. Returns a function that queues the job. It must be called in the transaction that
 * completes a backup, because old backups are deleted only when there is a new one. A restored copy deletes nothing
 * until it is released, because it may share the store of the original service.
 */
export function deletesOutdated(
  deps: RetentionDeps & RootKeysDeps & { jobs: Jobs; hold: OutboundHold },
) {
  const { jobs, hold } = deps
  const work = async (_data: object, { signal }: JobContext) => {
    const clock = await deps.db.agreedClock.read()
    await deleteOutdatedBackups({ ...deps, clock }, signal)
    await deleteOrphans({ ...deps, clock })
    await destroyUnneededRoots(deps)
  }
  jobs.work(OUTDATED, work, { when: hold.whenReleased })
  return (tx: TenantTx): Promise<void> => jobs.send(tx, OUTDATED, {}, { singletonKey: 'all' })
}

/** Deletes outdated backups that are not locked. Exported for its test. */
export async function deleteOutdatedBackups(
  deps: RetentionDeps,
  signal: AbortSignal,
): Promise<void> {
  const { db, store, clock, log, keep } = deps
  const limits = { keep, anyway: isoAt(clock, -ANYWAY_MS) }
  const outdated = await db.acrossTenants((tx) => findOutdated(tx, limits), 'read')
  const locked: string[] = []
  for (const backup of outdated) {
    if (signal.aborted) return
    const state = isLocked(backup, clock)
      ? 'locked'
      : await db.acrossTenants(async (tx) => {
          await lockUntilEnd(tx, 'storeDeletion')
          // Checks again, because earlier deletions may have taken minutes. If a newer backup has failed or was deleted
          // in that time, this backup is needed again.
          const stillOutdated = await findOutdated(tx, limits)
          if (!stillOutdated.some(({ id }) => id === backup.id)) return 'needed'
          return deleteWithFile(tx, SYSTEM, backup, { files: store, log })
        })
    if (state === 'locked') locked.push(backup.id)
  }
  if (locked.length > 0)
    log.info({ backups: locked }, 'outdated backups kept until their locks end')
}

const isLocked = ({ locked_until: until }: OutdatedBackup, clock: Clock): boolean =>
  until !== null && Date.parse(until) > clock.now()

/**
 * Deletes files that have neither a row nor a list entry, because a crash interrupted their creation or deletion. A
 * file with a list entry is kept, because it may be the only copy of a lost database. Exported for its test.
 */
export async function deleteOrphans({ db, store, clock }: RetentionDeps): Promise<void> {
  const before = clock.now() - ORPHAN_MS
  await store.sweep(before)
  const objects = await store.list()
  const names = new Set(objects.map(({ name }) => name))
  const orphans = objects.flatMap(({ name, writtenAt }) => {
    const id = backupIdOf(name)
    return id && writtenAt < before && !names.has(sidecarName(id)) ? [{ id, name }] : []
  })
  const ids = orphans.map(({ id }) => id)
  const known = await db.acrossTenants((tx) => knownOf(tx, ids), 'read')
  for (const { id, name } of orphans) if (!known.has(id)) await store.delete(name)
}
