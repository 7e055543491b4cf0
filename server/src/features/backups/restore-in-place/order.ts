/** Asks for a restore: what of which backup, and whether that can be. */
import { randomUUID } from 'node:crypto'
import { Problem } from '../../../lib/problems.ts'
import { inScope, type Scope, type Scopes, type TenantTx } from '../../../platform/db/index.ts'
import { type Actor, ordererOf, requireSession } from '../../../platform/journal/index.ts'
import type { Backup, RestoreOrder } from '../backups.schema.ts'
import { findDeletion, insertJob } from '../backups.store.ts'
import type { BackupType } from '../file/format.ts'
import { requireWhole } from '../whole.ts'
import type { RestoreOptions } from './outcome.ts'

const GONE = 'The tenant is gone for good: one that was purged comes back from no backup'
const PURGING = 'The purge of the tenant has begun: it comes back from no backup'
const DELETED =
  'The tenant is deleted, and a restore would leave it so: put it back first, by `wardkeep restore-tenant`'

export type Wanted = Pick<RestoreOrder, 'type' | 'tenant_id' | 'access' | 'dry_run'>

/**
 * Queues a restore, of which the worker that takes it makes sure again.
 * @throws Problem 404 for a backup that is not whole, 409 where it does not hold what is asked for, or
 * another one is being restored
 */
export async function queueRestore(
  db: Scopes,
  scope: Scope,
  backup: Backup,
  { access, dry_run, ...wanted }: Wanted,
  actor: Actor,
) {
  requireWhole(backup)
  const tenant_id = restoredTenant(backup, wanted)
  const job_id = randomUUID()
  const type: BackupType = tenant_id === null ? 'full' : 'tenant'
  await inScope(db, scope, async (tx) => {
    if (tenant_id !== null) await requireLiving(tx, tenant_id)
    requireSession(tx, actor)
    await insertJob(tx, {
      id: job_id,
      backup_id: backup.backup_id,
      tenant_id,
      kind: 'restore',
      actor: JSON.stringify(ordererOf(actor)),
      options: JSON.stringify({ tenant_id, access, dry_run } satisfies RestoreOptions),
    })
  })
  return { job_id, backup_id: backup.backup_id, type, status: 'queued' as const }
}

/** @throws Problem 409 for a tenant that is deleted: nobody could see how its restore goes */
async function requireLiving(tx: TenantTx, tenantId: number): Promise<void> {
  const found = await findDeletion(tx, tenantId)
  const refuse = (detail: string) => new Problem('restore_refused', { detail })
  if (!found) throw refuse(GONE)
  if (found.purge_started_at !== null) throw refuse(PURGING)
  if (found.deleted_at !== null) throw refuse(DELETED)
}

/** Whose rows are restored; null for all. @throws Problem 409 where the backup does not hold that */
function restoredTenant(
  { type, tenant_id }: Backup,
  wanted: Pick<Wanted, 'type' | 'tenant_id'>,
): number | null {
  const refuse = (detail: string) => new Problem('restore_refused', { detail })
  if (type === 'tenant') {
    if (wanted.type === 'full') throw refuse('The backup is of one tenant, and not of everything')
    if (wanted.tenant_id !== undefined && wanted.tenant_id !== tenant_id)
      throw refuse('The backup is of another tenant')
    return tenant_id
  }
  if (wanted.type === 'full' || (wanted.type === undefined && wanted.tenant_id === undefined))
    return null
  if (wanted.tenant_id === undefined) throw refuse('Say whose rows: send tenant_id')
  return wanted.tenant_id
}
