/** The job that takes purged tenants out of a backup: the same backup, in another file. */
import type { Scopes } from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Watch } from '../create/create.ts'
import { NotStoredError } from '../stores/store.ts'
import { type Job, requireAtWork } from '../work/work.store.ts'
import { findFiled, listPurged, saveRewritten } from './erase.store.ts'
import { type FileDeps, type Rewritten, rewrite, settle } from './rewrite.ts'

export interface ForgetDeps extends FileDeps {
  db: Scopes
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
  const wanted = { rewritten_at: backup.now, forgotten: purged }
  const made = await rewrite(backup, wanted, deps, watch)
  await db.acrossTenants(async (tx) => {
    // Whoever has ended the job meanwhile has deleted the new file.
    await requireAtWork(tx, job)
    await saveRewritten(tx, id, made)
  })
  await settle({ id, ...made }, deps, watch.signal)
  return made
}

/** Takes away what the job has left that failed, or died. */
export async function settleLeft({ db, log, ...deps }: ForgetDeps, id: string): Promise<void> {
  const work = async () => {
    const backup = await db.acrossTenants((tx) => findFiled(tx, id), 'read')
    if (backup) await settle(backup, deps, new AbortController().signal)
  }
  await canFail(work(), 'settling a backup that was written anew', log)
}
