/** Creates backups from a replica, so that reading all tables does not slow down the primary. */
import type { PgConnection, Replica } from '../../../platform/db/index.ts'
import { type CreatedBackup, findBeginning, type Job } from '../work/work.store.ts'
import { type BackupProgress, type CreateDeps, createBackup } from './create.ts'

/** How long a backup waits for the replica to catch up. No user waits for this. */
const REPLAYED_WITHIN_MS = 10_000

export interface OnReplicaDeps extends CreateDeps {
  /** The replica to read from; undefined if none is configured. */
  replica?: Replica | undefined
}

/**
 * Creates a backup from the replica if the replica is usable, otherwise from the primary. If the replica fails midway,
 * for example because recovery cancels a query, restarts the backup on the primary and replaces the partial file.
 * @param client a connection to the primary
 */
export async function createOnReplica(
  client: PgConnection,
  job: Job,
  deps: OnReplicaDeps,
  watch: BackupProgress,
): Promise<CreatedBackup> {
  const standby = await deps.replica?.open({
    name: 'backup',
    waitMs: REPLAYED_WITHIN_MS,
    readBeginning: (tx) => findBeginning(tx, job),
    signal: watch.signal,
  })
  if (!standby) return createBackup(client, job, deps, watch)
  try {
    // Reports no connection, because replay cancels the backup when it needs a locked table.
    const beside = { ...watch, holding: () => undefined }
    return await createBackup(standby.client, job, deps, beside, { begunAt: standby.begunAt })
  } catch (error) {
    standby.giveUp(error)
  } finally {
    await standby.close()
  }
  const phase = 'Starting again on the primary'
  watch.progress({ share: 0, phase, done: null, total: null, unit: 'records' })
  return createBackup(client, job, deps, watch)
}
