/** What the command line does with backups, beside a running service or without one. */

import { orNotFound, Problem } from '../../../lib/problems.ts'
import { StartupError } from '../../../lib/startup-error.ts'
import type { DatabaseAddress, Scopes } from '../../../platform/db/index.ts'
import { append, SYSTEM } from '../../../platform/journal/index.ts'
import { findPlatformTenant, findTenant } from '../../tenants/index.ts'
import type { Backup, BackupJob } from '../backups.schema.ts'
import { findBackup, findJob, listBackups } from '../backups.store.ts'
import { verifyFile } from '../create/create.ts'
import { saveVerified } from '../drill/drill.store.ts'
import { drillNamed, type NamedDrillDeps } from '../drill/planned.ts'
import { type Forgetting, forgetTenant } from '../erase/forget-tenant.ts'
import { UnreadableFile } from '../file/age.ts'
import { fileName } from '../file/names.ts'
import { queueRestore, type Wanted } from '../restore-in-place/order.ts'
import { isBeingMade } from '../schedule/schedule.store.ts'
import { queueBackup } from '../schedule/schedule.ts'
import { NotStoredError } from '../stores/store.ts'
import { type BackupWorker, buryAbandoned } from '../work/worker.ts'
import { type AdoptDeps, type Adoption, adopt, adoptOne } from './adopt.ts'
import { jobState } from './commands.store.ts'
import { inWords } from './in-words.ts'

/** How often a job is asked for that may be done elsewhere. */
const ASK_EVERY_MS = 200

/** Told how far it is: between 0 and 1. */
type OnProgress = (share: number) => void

export interface BackupCommands {
  /** Makes one to its end. @param tenantId null for everything @throws StartupError with why not */
  create(tenantId: number | null, onProgress: OnProgress): Promise<Backup>
  /** The latest first. */
  list(): ReturnType<typeof listBackups>
  /** Reads a backup to its end, and enters that. @throws StartupError where it is not whole */
  verify(id: string, onProgress: OnProgress): Promise<Backup>
  /** Restores a backup of everything into a server that is thrown away. @throws StartupError as `verify` */
  drill(id: string, onProgress: OnProgress): Promise<Backup>
  /** Restores a backup in place, or says what that would do. @throws StartupError with why not */
  restore(id: string, wanted: Wanted, onProgress: OnProgress): Promise<BackupJob>
  /** Enters what the store alone has. @throws StartupError where the store refuses */
  adopt(): Promise<Adoption>
  /** Proves that what is sealed in the database opens. @throws Error where it does not */
  prove(address: DatabaseAddress): Promise<void>
  /** Takes a purged tenant out of all backups. @throws StartupError where it was not purged */
  forgetTenant(tenantId: number, onProgress: OnProgress): Promise<Forgetting>
}

export interface CommandDeps extends AdoptDeps, NamedDrillDeps {
  /** Does the one job where no service takes what waits; what else waits is never its own. */
  startWorker(job: string): BackupWorker
}

export function backupCommands(deps: CommandDeps): BackupCommands {
  const { db, store, keeper, reading } = deps
  /** Of the list; one that lies in the store alone is entered first. */
  const found = async (id: string): Promise<Backup> => {
    const find = () => db.acrossTenants((tx) => findBackup(tx, id), 'read')
    const known = await find()
    if (known) return known
    const reason = await adoptOne(deps, id).catch((error: unknown) => {
      if (error instanceof NotStoredError) return 'nor does the store'
      throw error
    })
    if (reason !== undefined)
      throw new StartupError(`The database does not know backup ${id}: ${reason}.`)
    return orNotFound(await find(), 'backup')
  }

  async function create(tenantId: number | null, onProgress: OnProgress): Promise<Backup> {
    await buryAbandoned(deps)
    const { job_id, backup_id } = await db.acrossTenants(async (tx) => {
      if (tenantId !== null) orNotFound(await findTenant(tx, tenantId), 'tenant')
      if (await isBeingMade(tx, tenantId)) throw new Problem('backup_running')
      const type = tenantId === null ? 'full' : 'tenant'
      return queueBackup(tx, { type, tenant_id: tenantId, reason: 'request' })
    })
    await follow(job_id, onProgress)
    return found(backup_id)
  }

  /** Sees a job to its end: the service's where one works, else here. */
  async function follow(job: string, onProgress: OnProgress): Promise<void> {
    const worker = deps.startWorker(job)
    try {
      await ended(db, job, onProgress)
    } finally {
      await worker.stop()
    }
  }

  async function restore(id: string, wanted: Wanted, onProgress: OnProgress): Promise<BackupJob> {
    await buryAbandoned(deps)
    const { job_id } = await queueRestore(db, null, await found(id), wanted, SYSTEM)
    await follow(job_id, onProgress)
    return orNotFound(await db.acrossTenants((tx) => findJob(tx, job_id), 'read'), 'job')
  }

  async function drill(id: string, onProgress: OnProgress): Promise<Backup> {
    const { status, type, rewritten_at } = await found(id)
    if (status !== 'completed') throw new StartupError(`The backup is ${status}.`)
    if (type !== 'full')
      throw new StartupError('A drill is of a backup of everything; this one is of one tenant.')
    await drillNamed(deps, { id, rewritten_at }, onProgress)
    return found(id)
  }

  async function verify(id: string, onProgress: OnProgress): Promise<Backup> {
    await using _held = await reading.hold(id)
    const { status, type, tenant_id, sha256, size_bytes, rewritten_at } = await found(id)
    if (status !== 'completed') throw new StartupError(`The backup is ${status}.`)
    const never = new AbortController().signal
    try {
      await verifyFile(
        store,
        keeper,
        { name: fileName(id, rewritten_at), sha256 },
        never,
        (bytes) => onProgress(bytes / Math.max(size_bytes ?? bytes, 1)),
      )
    } catch (error) {
      // Nobody is to rely on it any more: neither the health report nor retention.
      if (error instanceof UnreadableFile || error instanceof NotStoredError)
        await db.acrossTenants((tx) => saveVerified(tx, { id, rewritten_at }, false))
      throw error
    }
    await db.acrossTenants(async (tx) => {
      await saveVerified(tx, { id, rewritten_at }, true)
      await append(tx, SYSTEM, {
        action: 'backup.verified',
        tenant_id: tenant_id ?? (await findPlatformTenant(tx))?.id ?? null,
        resource_type: 'backup',
        resource_id: id,
        changes: { type },
      })
    })
    return found(id)
  }

  return {
    create: (tenantId, onProgress) => inWords(create(tenantId, onProgress)),
    list: () => db.acrossTenants(listBackups, 'read'),
    verify: (id, onProgress) => inWords(verify(id, onProgress)),
    drill: (id, onProgress) => inWords(drill(id, onProgress)),
    restore: (id, wanted, onProgress) => inWords(restore(id, wanted, onProgress)),
    adopt: () => inWords(adopt(deps)),
    prove: deps.prove,
    forgetTenant: (tenantId, onProgress) =>
      inWords(forgetTenant({ db, store, keeper, follow }, tenantId, onProgress)),
  }
}

/** Waits for the end of a job, whoever does it. @throws StartupError */
async function ended(db: Scopes, job: string, onProgress: OnProgress): Promise<void> {
  for (;;) {
    const state = await db.acrossTenants((tx) => jobState(tx, job), 'read')
    if (!state) throw new StartupError('The backup was deleted while it was made.')
    onProgress(state.progress)
    if (state.status === 'completed') return
    if (state.status === 'failed') throw new StartupError(state.error ?? 'The backup failed.')
    await db.clock.delay(ASK_EVERY_MS)
  }
}
