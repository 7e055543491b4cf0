/** The job that rewrites a backup into a new file without purged tenants. The backup keeps its id. */

import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { BackupProgress } from '../create/create.ts'
import { fileName } from '../file/names.ts'
import { NotStoredError } from '../stores/store.ts'
import { type Job, LostJobError, requireAtWork } from '../work/work.store.ts'
import { findFiled, listPurged, saveRewritten, startOfJob } from './erase.store.ts'
import { type Rewritten, rewrite, type SettleDeps, settleRewrite } from './rewrite.ts'

export interface ForgetDeps extends SettleDeps {
  log: Logger
}

/**
 * Rewrites a backup without its purged tenants. If the process crashes at any point, the database and the list entry in
 * the store still each name a complete file.
 * @throws LostJobError if another process ended the job
 */
export async function forgetPurged(
  deps: ForgetDeps,
  job: Pick<Job, 'id' | 'number' | 'backup_id'>,
  watch: Pick<BackupProgress, 'signal' | 'progress'>,
): Promise<Rewritten> {
  const { db } = deps
  const id = job.backup_id
  const backup = await db.acrossTenants((tx) => findFiled(tx, id), 'read')
  if (!backup) throw new NotStoredError('the backup no longer exists')
  const purged = await db.acrossTenants(listPurged, 'read')
  const begun = await db.acrossTenants((tx) => startOfJob(tx, job.id), 'read')
  if (begun === null) throw new LostJobError()
  const wanted = { rewritten_at: begun, forgotten: purged }
  const made = await rewrite(backup, wanted, deps, watch)
  await db.acrossTenants(async (tx) => {
    // If another process ended the job in the meantime, that process also deleted the new file.
    await requireAtWork(tx, job)
    await saveRewritten(tx, id, made)
  })
  await settleRewrite({ id, ...made }, deps, watch.signal)
  return made
}

/** Deletes the files, including partial ones, that a failed or crashed rewrite left behind. */
export async function settleLeft(
  { log, ...deps }: ForgetDeps,
  job: Pick<Job, 'id' | 'backup_id'>,
): Promise<void> {
  const { db, store } = deps
  const work = async () => {
    const begun = await db.acrossTenants((tx) => startOfJob(tx, job.id), 'read')
    const backup = await db.acrossTenants((tx) => findFiled(tx, job.backup_id), 'read')
    if (!backup) return
    if (begun !== null && begun !== backup.rewritten_at) {
      // No row and no list entry names this file, so no process can be reading it.
      const name = fileName(job.backup_id, begun)
      await store.discard(name)
      await store.delete(name)
    }
    await settleRewrite(backup, deps, new AbortController().signal)
  }
  await canFail(work(), 'completion of a backup rewrite', log)
}
