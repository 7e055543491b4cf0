/** Implements the backup commands. They work whether or not the service is running. */

import { orNotFound, Problem } from '../../../lib/problems.ts'
import { StartupError } from '../../../lib/startup-error.ts'
import type { DatabaseAddress, Scopes } from '../../../platform/db/index.ts'
import { SYSTEM } from '../../../platform/journal/index.ts'
import { findTenant } from '../../tenants/index.ts'
import { appendBackupEvent } from '../backups.journal.ts'
import type { Backup, BackupJob } from '../backups.schema.ts'
import { findBackup, findJob, listBackups } from '../backups.store.ts'
import { verifyFile } from '../create/create.ts'
import { saveVerified } from '../drill/drill.store.ts'
import { drillNamed, type NamedDrillDeps } from '../drill/scheduled-drill.ts'
import { type Forgetting, forgetTenant } from '../erase/forget-tenant.ts'
import { UnreadableFile } from '../file/age.ts'
import { fileName } from '../file/names.ts'
import { queueRestore, type Wanted } from '../restore-in-place/order.ts'
import { isBeingCreated } from '../schedule/schedule.store.ts'
import { queueBackup } from '../schedule/schedule.ts'
import { NotStoredError } from '../stores/store.ts'
import { type BackupWorker, failAbandonedJobs } from '../work/worker.ts'
import { type AdoptDeps, type Adoption, adoptOne, adoptStoredBackups } from './adopt.ts'
import { jobState } from './commands.store.ts'
import { inWords } from './problem-sentences.ts'

/** The interval at which the progress of a job is read. The job may run in another process. */
const ASK_EVERY_MS = 200

/** Receives the progress, between 0 and 1. */
type OnProgress = (share: number) => void

export interface BackupCommands {
  /** Creates a backup and waits for it. @param tenantId null for a full backup @throws StartupError if it fails */
  create(tenantId: number | null, onProgress: OnProgress): Promise<Backup>
  list(): ReturnType<typeof listBackups>
  /** Verifies a whole backup file and records the result. @throws StartupError if the backup is not usable */
  verify(id: string, onProgress: OnProgress): Promise<Backup>
  /** Restores a full backup into a temporary server. @throws StartupError if the backup is not usable */
  drill(id: string, onProgress: OnProgress): Promise<Backup>
  /** Restores a backup in place, or previews the restore. @throws StartupError with the cause if it fails */
  restore(id: string, wanted: Wanted, onProgress: OnProgress): Promise<BackupJob>
  /** Registers the backups that are in the store but not in the database. @throws StartupError if the store fails */
  adopt(): Promise<Adoption>
  /** Verifies that encrypted data in the database can be decrypted. @throws Error if it cannot */
  verifyDatabase(address: DatabaseAddress): Promise<void>
  /** Removes a purged tenant from all backups. @throws StartupError if the tenant was not purged */
  forgetTenant(tenantId: number, onProgress: OnProgress): Promise<Forgetting>
}

export interface CommandDeps extends AdoptDeps, NamedDrillDeps {
  /** Starts a worker for this job only, in case no service is running. */
  startWorker(job: string): BackupWorker
}

export function backupCommands(deps: CommandDeps): BackupCommands {
  const { db, store, backupKeys, reading } = deps
  /** Returns a registered backup. First registers a backup that is only in the store. */
  const found = async (id: string): Promise<Backup> => {
    const find = () => db.acrossTenants((tx) => findBackup(tx, id), 'read')
    const known = await find()
    if (known) return known
    const reason = await adoptOne(deps, id).catch((error: unknown) => {
      if (error instanceof NotStoredError) return 'it is not in the store either'
      throw error
    })
    if (reason !== undefined)
      throw new StartupError(`Backup ${id} is not registered in the database: ${reason}.`)
    return orNotFound(await find(), 'backup')
  }

  async function create(tenantId: number | null, onProgress: OnProgress): Promise<Backup> {
    await failAbandonedJobs(deps)
    const { job_id, backup_id } = await db.acrossTenants(async (tx) => {
      if (tenantId !== null) orNotFound(await findTenant(tx, tenantId), 'tenant')
      if (await isBeingCreated(tx, tenantId)) throw new Problem('backup_running')
      const type = tenantId === null ? 'full' : 'tenant'
      return queueBackup(tx, { type, tenant_id: tenantId, reason: 'request' })
    })
    await follow(job_id, onProgress)
    return found(backup_id)
  }

  /** Waits until a job ends. If no running service claims the job, runs it in this process. */
  async function follow(job: string, onProgress: OnProgress): Promise<void> {
    const worker = deps.startWorker(job)
    try {
      await ended(db, job, onProgress)
    } finally {
      await worker.stop()
    }
  }

  async function restore(id: string, wanted: Wanted, onProgress: OnProgress): Promise<BackupJob> {
    await failAbandonedJobs(deps)
    const { job_id } = await queueRestore(db, null, await found(id), wanted, SYSTEM)
    await follow(job_id, onProgress)
    return orNotFound(await db.acrossTenants((tx) => findJob(tx, job_id), 'read'), 'job')
  }

  async function drill(id: string, onProgress: OnProgress): Promise<Backup> {
    const { status, type, rewritten_at } = await found(id)
    if (status !== 'completed')
      throw new StartupError(`Backup ${id} has the status ${status}. Choose a completed backup.`)
    if (type !== 'full')
      throw new StartupError(
        'A test restore requires a full backup. This is a backup of one tenant.',
      )
    await drillNamed(deps, { id, rewritten_at }, { onProgress })
    return found(id)
  }

  async function verify(id: string, onProgress: OnProgress): Promise<Backup> {
    await using _lock = await reading.lock(id)
    const { status, type, tenant_id, sha256, size_bytes, rewritten_at } = await found(id)
    if (status !== 'completed')
      throw new StartupError(`Backup ${id} has the status ${status}. Choose a completed backup.`)
    const never = new AbortController().signal
    try {
      await verifyFile(
        store,
        backupKeys,
        { name: fileName(id, rewritten_at), sha256 },
        never,
        (bytes) => onProgress(bytes / Math.max(size_bytes ?? bytes, 1)),
      )
    } catch (error) {
      // After a failed verification, the health check and retention must no longer count the backup as verified.
      if (error instanceof UnreadableFile || error instanceof NotStoredError)
        await db.acrossTenants((tx) => saveVerified(tx, { id, rewritten_at }, false))
      throw error
    }
    await db.acrossTenants(async (tx) => {
      await saveVerified(tx, { id, rewritten_at }, true)
      await appendBackupEvent(tx, SYSTEM, 'backup.verified', { id, type, tenant_id })
    })
    return found(id)
  }

  return {
    create: (tenantId, onProgress) => inWords(create(tenantId, onProgress)),
    list: () => db.acrossTenants(listBackups, 'read'),
    verify: (id, onProgress) => inWords(verify(id, onProgress)),
    drill: (id, onProgress) => inWords(drill(id, onProgress)),
    restore: (id, wanted, onProgress) => inWords(restore(id, wanted, onProgress)),
    adopt: () => inWords(adoptStoredBackups(deps)),
    verifyDatabase: deps.verify,
    forgetTenant: (tenantId, onProgress) =>
      inWords(forgetTenant({ db, store, backupKeys, follow }, tenantId, onProgress)),
  }
}

/** Waits until a job ends, which may run in any process. @throws StartupError if the job failed */
async function ended(db: Scopes, job: string, onProgress: OnProgress): Promise<void> {
  for (;;) {
    const state = await db.acrossTenants((tx) => jobState(tx, job), 'read')
    if (!state) throw new StartupError('The backup was deleted while it was being created.')
    onProgress(state.progress)
    if (state.status === 'completed') return
    if (state.status === 'failed')
      throw new StartupError(
        state.error ?? 'The backup failed. See the log of the service for the cause.',
      )
    await db.clock.delay(ASK_EVERY_MS)
  }
}
