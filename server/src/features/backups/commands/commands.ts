/** What the command line does with backups, beside a running service or without one. */
import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '../../../lib/problems.ts'
import { StartupError } from '../../../lib/startup-error.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import { append, SYSTEM } from '../../../platform/journal/index.ts'
import { findPlatformTenant, findTenant } from '../../tenants/index.ts'
import type { Backup } from '../backups.schema.ts'
import { findBackup, listBackups } from '../backups.store.ts'
import { fileName, verifyFile } from '../create/create.ts'
import { UnreadableFile } from '../file/age.ts'
import { isBeingMade } from '../schedule/schedule.store.ts'
import { queueBackup } from '../schedule/schedule.ts'
import { NotStoredError } from '../stores/store.ts'
import type { BackupWorker } from '../work/worker.ts'
import { type AdoptDeps, type Adoption, adopt } from './adopt.ts'
import { jobState, saveVerified } from './commands.store.ts'
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
  adopt(): Promise<Adoption>
}

export interface CommandDeps extends AdoptDeps {
  db: Scopes
  /** Does the one job, unless another process does: what else waits is the service's. */
  startWorker(job: string): BackupWorker
}

export function backupCommands(deps: CommandDeps): BackupCommands {
  const { db, store, keeper } = deps
  const found = async (id: string): Promise<Backup> => {
    const backup = await db.acrossTenants((tx) => findBackup(tx, id), 'read')
    if (!backup) throw new Problem('not_found')
    return backup
  }

  async function create(tenantId: number | null, onProgress: OnProgress): Promise<Backup> {
    const { job_id, backup_id } = await db.acrossTenants(async (tx) => {
      if (tenantId !== null && !(await findTenant(tx, tenantId))) throw new Problem('not_found')
      if (await isBeingMade(tx, tenantId)) throw new Problem('backup_running')
      const type = tenantId === null ? 'full' : 'tenant'
      return queueBackup(tx, { type, tenant_id: tenantId, reason: 'request' })
    })
    const worker = deps.startWorker(job_id)
    try {
      await ended(db, job_id, onProgress)
    } finally {
      await worker.stop()
    }
    return found(backup_id)
  }

  async function verify(id: string, onProgress: OnProgress): Promise<Backup> {
    const { status, type, tenant_id, sha256, size_bytes } = await found(id)
    if (status !== 'completed') throw new StartupError(`The backup is ${status}.`)
    const never = new AbortController().signal
    try {
      await verifyFile(store, keeper, { name: fileName(id), sha256 }, never, (bytes) =>
        onProgress(bytes / Math.max(size_bytes ?? bytes, 1)),
      )
    } catch (error) {
      // Nobody is to rely on it any more: neither the health report nor retention.
      if (error instanceof UnreadableFile || error instanceof NotStoredError)
        await db.acrossTenants((tx) => saveVerified(tx, id, false))
      throw error
    }
    await db.acrossTenants(async (tx) => {
      await saveVerified(tx, id, true)
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
    adopt: () => adopt(deps),
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
    await delay(ASK_EVERY_MS)
  }
}
