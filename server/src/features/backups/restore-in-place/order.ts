/** Checks whether a restore is possible, and queues it. */

import { randomUUID } from 'node:crypto'
import { Problem } from '../../../lib/problems.ts'
import { inScope, type Scope, type Scopes, type TenantTx } from '../../../platform/db/index.ts'
import { type Actor, ordererOf, requireSession } from '../../../platform/journal/index.ts'
import type { Backup, RestoreOrder } from '../backups.schema.ts'
import { findDeletion, insertJob } from '../backups.store.ts'
import type { BackupType } from '../file/format.ts'
import type { RestoreOptions } from './outcome.ts'

const GONE = 'The tenant was purged and cannot be restored from a backup.'
const PURGING = 'The tenant is being purged and cannot be restored from a backup.'
const DELETED =
  'The tenant is deleted, and a restore does not change that. Run `wardkeep restore-tenant` first.'

export type Wanted = Pick<RestoreOrder, 'type' | 'tenant_id' | 'access' | 'dry_run'>

/**
 * Queues a restore. The worker repeats the checks when it starts the job.
 * @throws Problem 404 if the backup is incomplete, 409 if it does not contain the requested data or another restore is
 * running
 */
export async function queueRestore(
  db: Scopes,
  scope: Scope,
  backup: Backup,
  { access, dry_run, ...wanted }: Wanted,
  actor: Actor,
) {
  requireCompleted(backup)
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

/** @throws Problem 409 if the tenant is deleted, because its users could not follow the progress of the restore */
async function requireLiving(tx: TenantTx, tenantId: number): Promise<void> {
  const found = await findDeletion(tx, tenantId)
  const refuse = (detail: string) => new Problem('restore_refused', { detail })
  if (!found) throw refuse(GONE)
  if (found.purge_started_at !== null) throw refuse(PURGING)
  if (found.deleted_at !== null) throw refuse(DELETED)
}

/** Returns the tenant to restore, or null for all tenants. @throws Problem 409 if the backup does not contain it */
function restoredTenant(
  { type, tenant_id }: Backup,
  wanted: Pick<Wanted, 'type' | 'tenant_id'>,
): number | null {
  const refuse = (detail: string) => new Problem('restore_refused', { detail })
  if (type === 'tenant') {
    if (wanted.type === 'full')
      throw refuse(
        'This is a backup of one tenant, so a full restore is not possible. Send type tenant.',
      )
    if (wanted.tenant_id !== undefined && wanted.tenant_id !== tenant_id)
      throw refuse('This is a backup of another tenant. Check tenant_id.')
    return tenant_id
  }
  if (wanted.type === 'full' || (wanted.type === undefined && wanted.tenant_id === undefined))
    return null
  if (wanted.tenant_id === undefined)
    throw refuse('tenant_id is required to restore one tenant from a full backup.')
  return wanted.tenant_id
}

/** Checks that a backup is completed and can therefore be read. @throws Problem 404 if not */
export function requireCompleted({ status }: Pick<Backup, 'status'>): void {
  if (status !== 'completed')
    throw new Problem('not_found', {
      detail:
        'The backup is not completed: it is still being created, or it failed. Check its status in the list.',
    })
}
