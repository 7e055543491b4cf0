/** Creates, restores, lists, downloads and deletes backups. Called by the API operations. */

import { randomUUID } from 'node:crypto'
import type { Clock } from '../../lib/clock.ts'
import { orNotFound, Problem } from '../../lib/problems.ts'
import { type Admin, requireOwnTenant } from '../../platform/access/index.ts'
import { forCaller, type Scopes, scopeOf, type TenantTx } from '../../platform/db/index.ts'
import { actorOf, ordererOf, requireSession } from '../../platform/journal/index.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { findTenant } from '../tenants/index.ts'
import { appendBackupEvent } from './backups.journal.ts'
import type { Backup, BackupJob, BackupOrder, RestoreOrder } from './backups.schema.ts'
import * as store from './backups.store.ts'
import { deleteWithFile } from './delete-backup.ts'
import { backupFiles, unlessAway } from './download/files.ts'
import { downloadTickets, type IdentifySession } from './download/tickets.ts'
import type { Drills } from './drill/drills.ts'
import type { BackupType } from './file/format.ts'
import { addCaseNames } from './restore-in-place/case-names.ts'
import { queueRestore, requireCompleted } from './restore-in-place/order.ts'
import { newestProofOf } from './schedule/schedule.store.ts'
import type { Store } from './stores/store.ts'
import type { BackupReadLocks } from './work/reading.ts'

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/

const ONLY_FULL =
  'Only full backups can be test-restored, because a backup of one tenant is not a complete database.'

export interface BackupsDeps {
  db: Scopes
  store: Store
  log: Logger
  /** Wakes the backup worker of this process. Does nothing if this process runs no worker. */
  wake(): void
  reading: BackupReadLocks
  clock: Clock
  drills: Drills
  identify: IdentifySession
}

export type BackupsService = ReturnType<typeof backupsService>

export function backupsService(deps: BackupsDeps) {
  const { db, store: files, log, wake, reading, clock, drills, identify } = deps

  /** Looks up a row by id. Returns undefined if no row has this id, or if the id is not a UUID (for example a path). */
  async function known<T>(
    caller: Admin,
    id: string,
    query: (tx: TenantTx, id: string) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    return UUID.test(id) ? forCaller(db, caller, (tx) => query(tx, id), 'read') : undefined
  }

  async function find(caller: Admin, id: string): Promise<Backup> {
    return orNotFound(await known(caller, id, store.findBackup), 'backup')
  }

  const downloads = backupFiles({ store: files, reading, find })

  return {
    /**
     * Queues the creation of a backup.
     * @throws Problem 403 if the caller may not create this backup, 404 for an unknown tenant, 409 while another backup
     * is being created
     */
    async create(caller: Admin, order: BackupOrder) {
      const { type, tenant_id } = subjectOf(caller, order)
      const job_id = randomUUID()
      const backup_id = randomUUID()
      await forCaller(db, caller, async (tx) => {
        if (tenant_id !== null) orNotFound(await findTenant(tx, tenant_id), 'tenant')
        await store.insertBackup(tx, {
          id: backup_id,
          type,
          tenant_id,
          reason: 'request',
          created_by: caller.user_id,
        })
        requireSession(tx, actorOf(caller))
        const actor = JSON.stringify(ordererOf(actorOf(caller)))
        await store.insertJob(tx, { id: job_id, backup_id, tenant_id, kind: 'create', actor })
      })
      wake()
      return { job_id, backup_id, type, status: 'queued' as const }
    },

    /**
     * Queues the restore of a backup.
     * @throws Problem 403 if the caller may not restore the backup, 404 if the backup is unknown, 409 if the backup
     * cannot be restored as requested or another restore is running
     */
    async restore(caller: Admin, order: RestoreOrder) {
      if (order.access === 'backup' && caller.role !== 'superadmin')
        throw new Problem('superadmin_required')
      requireOwnTenant(caller, order.tenant_id)
      const backup = await find(caller, order.backup_id)
      const queued = await queueRestore(db, scopeOf(caller), backup, order, actorOf(caller))
      wake()
      return queued
    },

    /** Returns the caller's backups, and what a full backup proves for the tenant of the caller. */
    async list(caller: Admin) {
      const listed = await forCaller(db, caller, store.listBackups, 'read')
      const full_backup =
        caller.role === 'superadmin'
          ? null
          : await db.acrossTenants((tx) => newestProofOf(tx, caller.tenant_id), 'read')
      return { ...listed, full_backup }
    },

    async job(caller: Admin, id: string): Promise<BackupJob> {
      const find = async (tx: TenantTx) => {
        const job = await store.findJob(tx, id)
        return job?.result ? { ...job, result: await addCaseNames(tx, job.result) } : job
      }
      return orNotFound(await known(caller, id, find), 'job')
    },

    /** @throws Problem 404 for an unknown or incomplete backup or another type, 503 without its file or store */
    async download(caller: Admin, id: string, type: BackupType | undefined) {
      const backup = await find(caller, id)
      if (type !== undefined && type !== backup.type)
        throw new Problem('not_found', { detail: `No backup of type ${type} has this id` })
      const file = await downloads.fileOf(caller, backup)
      await forCaller(db, caller, (tx) =>
        appendBackupEvent(tx, actorOf(caller), 'backup.downloaded', { ...backup, id }),
      )
      return file
    },

    /**
     * Starts a test restore of a full backup.
     * @throws Problem 404 for an unknown or incomplete backup, 409 for a backup of one tenant or while a test restore is running
     */
    async drill(caller: Admin, id: string) {
      const backup = await find(caller, id)
      requireCompleted(backup)
      if (backup.type !== 'full') throw new Problem('restore_refused', { detail: ONLY_FULL })
      const actor = actorOf(caller)
      await forCaller(db, caller, async (tx) => requireSession(tx, actor))
      const { rewritten_at } = backup
      const job_id = await drills.start({ id, rewritten_at }, ordererOf(actor))
      return { job_id, backup_id: id, type: backup.type, status: 'running' as const }
    },

    tickets: downloadTickets({ db, clock, find, files: downloads, identify }),

    /** Deletes a backup. @throws Problem 404 if it is unknown, 409 while it is used or locked by the store */
    async remove(caller: Admin, id: string): Promise<Backup> {
      const backup = await find(caller, id)
      await forCaller(db, caller, async (tx) => {
        const state = await deleteWithFile(tx, actorOf(caller), { ...backup, id }, { files, log })
        orNotFound(state === 'gone' ? undefined : state, 'backup')
        if (state === 'busy') throw new Problem('backup_in_use')
        if (state === 'locked') throw new Problem('backup_locked')
      }).catch(unlessAway)
      return backup
    },
  }
}

/** Returns the type and the tenant of a new backup. @throws Problem 403 if the caller may not create it */
function subjectOf(
  caller: Admin,
  { type = caller.role === 'superadmin' ? 'full' : 'tenant', tenant_id }: BackupOrder,
): { type: BackupType; tenant_id: number | null } {
  requireOwnTenant(caller, tenant_id)
  if (type === 'full' && caller.role !== 'superadmin') throw new Problem('superadmin_required')
  return { type, tenant_id: type === 'full' ? null : (tenant_id ?? caller.tenant_id) }
}
