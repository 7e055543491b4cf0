/** The job that takes purged tenants out of a backup: the same backup, in another file. */

import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Watch } from '../create/create.ts'
import { fileName } from '../file/names.ts'
import { NotStoredError } from '../stores/store.ts'
import { type Job, LostJobError, requireAtWork } from '../work/work.store.ts'
import { findFiled, listPurged, saveRewritten, startOf } from './erase.store.ts'
import { type Rewritten, rewrite, type SettleDeps, settle } from './rewrite.ts'

export interface ForgetDeps extends SettleDeps {
  log: Logger
}

/**
 * Writes a backup anew without any tenant that is purged. Whatever dies when: the database, and the list
 * entry in the store, each name a file that is whole.
 * @throws LostJobError where the job was ended by others
 */
export async function forgetPurged(
  deps: ForgetDeps,
  job: Pick<Job, 'id' | 'number' | 'backup_id'>,
  watch: Pick<Watch, 'signal' | 'progress'>,
): Promise<Rewritten> {
  const { db } = deps
  const id = job.backup_id
  const backup = await db.acrossTenants((tx) => findFiled(tx, id), 'read')
  if (!backup) throw new NotStoredError('the backup is gone')
  const purged = await db.acrossTenants(listPurged, 'read')
  const begun = await db.acrossTenants((tx) => startOf(tx, job.id), 'read')
  if (begun === null) throw new LostJobError()
  const wanted = { rewritten_at: begun, forgotten: purged }
  const made = await rewrite(backup, wanted, deps, watch)
  await db.acrossTenants(async (tx) => {
    // Whoever has ended the job meanwhile has deleted the new file.
    await requireAtWork(tx, job)
    await saveRewritten(tx, id, made)
  })
  await settle({ id, ...made }, deps, watch.signal)
  return made
}

/** Takes away what the job has left that failed, or died: also what is half written. */
export async function settleLeft(
  { log, ...deps }: ForgetDeps,
  job: Pick<Job, 'id' | 'backup_id'>,
): Promise<void> {
  const { db, store } = deps
  const work = async () => {
    const begun = await db.acrossTenants((tx) => startOf(tx, job.id), 'read')
    const backup = await db.acrossTenants((tx) => findFiled(tx, job.backup_id), 'read')
    if (!backup) return
    if (begun !== null && begun !== backup.rewritten_at) {
      // Nobody reads it, as nothing refers to it.
      const name = fileName(job.backup_id, begun)
      await store.discard(name)
      await store.delete(name)
    }
    await settle(backup, deps, new AbortController().signal)
  }
  await canFail(work(), 'settling a backup that was written anew', log)
}
