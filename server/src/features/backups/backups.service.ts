/** Backups as people see them: asked for, listed, downloaded, deleted. */

import { randomUUID } from 'node:crypto'
import { orNotFound, Problem } from '../../lib/problems.ts'
import { type Admin, requireOwnTenant } from '../../platform/access/index.ts'
import { forCaller, type Scopes, scopeOf, type TenantTx } from '../../platform/db/index.ts'
import { actorOf, append, ordererOf, requireSession } from '../../platform/journal/index.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { findTenant } from '../tenants/index.ts'
import type { Backup, BackupJob, BackupOrder, RestoreOrder } from './backups.schema.ts'
import * as store from './backups.store.ts'
import { deleteWithFile } from './delete.ts'
import type { BackupType } from './file/format.ts'
import { fileName } from './file/names.ts'
import { queueRestore } from './restore-in-place/order.ts'
import { type ByteRange, NotStoredError, type Store, StoreError } from './stores/store.ts'
import { requireWhole } from './whole.ts'
import type { Reading } from './work/reading.ts'

const STORE_RETRY_SECONDS = 60
const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/

export interface BackupsDeps {
  db: Scopes
  store: Store
  log: Logger
  /** Has the work begin at once where it is done here. */
  wake(): void
  reading: Reading
}

export type Backups = ReturnType<typeof backupsService>

export function backupsService({ db, store: files, log, wake, reading }: BackupsDeps) {
  /** What has this id; undefined also for what is none, such as what looks like a path. */
  async function known<T>(
    caller: Admin,
    id: string,
    look: (tx: TenantTx, id: string) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    return UUID.test(id) ? forCaller(db, caller, (tx) => look(tx, id), 'read') : undefined
  }

  async function find(caller: Admin, id: string): Promise<Backup> {
    return orNotFound(await known(caller, id, store.findBackup), 'backup')
  }

  /** Of a whole one: looked up while it is held, as it may have been deleted since the answer began. */
  async function* read(caller: Admin, { backup_id, rewritten_at }: Backup, range?: ByteRange) {
    await using _held = await reading.hold(backup_id)
    const stays = await find(caller, backup_id)
    if (stays.rewritten_at !== rewritten_at) throw new Problem('backup_file_gone')
    try {
      yield* files.read(fileName(backup_id, rewritten_at), range)
    } catch (error) {
      unlessAway(error)
    }
  }

  return {
    /**
     * Queues one.
     * @throws Problem 403 where the caller may not have this one, 404 for an unknown tenant, 409 while
     * another one is made
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
     * Queues the restore of one.
     * @throws Problem 403 where the caller may not, 404, 409 where it is not what is asked for, or
     * another one is being restored
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

    list: (caller: Admin) => forCaller(db, caller, store.listBackups, 'read'),

    async job(caller: Admin, id: string): Promise<BackupJob> {
      return orNotFound(await known(caller, id, store.findJob), 'job')
    },

    /** @throws Problem 404 for one of another type, or that is not whole; 503 where its file is gone */
    async download(caller: Admin, id: string, type: BackupType | undefined) {
      const backup = await find(caller, id)
      if (type !== undefined && type !== backup.type)
        throw new Problem('not_found', { detail: `There is no such backup of type ${type}` })
      requireWhole(backup)
      const name = fileName(id, backup.rewritten_at)
      const size = await files.size(name).catch(unlessAway)
      await forCaller(db, caller, (tx) =>
        append(tx, actorOf(caller), {
          action: 'backup.downloaded',
          // Of everything is the platform's, whose webhooks are to hear of it.
          tenant_id: backup.tenant_id ?? caller.tenant_id,
          resource_type: 'backup',
          resource_id: id,
          changes: { type: backup.type },
        }),
      )
      return {
        name,
        whole: { size, etag: backup.sha256 ?? id },
        open: (range?: ByteRange) => read(caller, backup, range),
      }
    },

    /** Forgets it with its file. @throws Problem 409 while it is made, read or restored */
    async remove(caller: Admin, id: string): Promise<Backup> {
      const backup = await find(caller, id)
      await forCaller(db, caller, async (tx) => {
        const told = { ...backup, id, told: backup.tenant_id ?? caller.tenant_id }
        const state = await deleteWithFile(tx, actorOf(caller), told, { files, log })
        orNotFound(state === 'gone' ? undefined : state, 'backup')
        if (state === 'busy') throw new Problem('backup_in_use')
        if (state === 'locked') throw new Problem('backup_locked')
      }).catch(unlessAway)
      return backup
    },
  }
}

/** What the store says, for a caller. */
function unlessAway(error: unknown): never {
  if (error instanceof NotStoredError) throw new Problem('backup_file_gone', { cause: error })
  if (error instanceof StoreError)
    throw new Problem('backup_store_away', { cause: error, retryAfter: STORE_RETRY_SECONDS })
  throw error
}

/** What is backed up: everything, or one tenant. */
function subjectOf(
  caller: Admin,
  { type = caller.role === 'superadmin' ? 'full' : 'tenant', tenant_id }: BackupOrder,
): { type: BackupType; tenant_id: number | null } {
  requireOwnTenant(caller, tenant_id)
  if (type === 'full' && caller.role !== 'superadmin') throw new Problem('superadmin_required')
  return { type, tenant_id: type === 'full' ? null : (tenant_id ?? caller.tenant_id) }
}
