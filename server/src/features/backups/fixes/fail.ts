import type { TenantTx } from '../../../platform/db/index.ts'
import type { Repaired } from '../../../platform/fix.ts'
import { append, SYSTEM } from '../../../platform/journal/index.ts'
import { findPlatformTenant } from '../../tenants/index.ts'
import type { Status } from '../backups.table.ts'
import { failBackup } from './fixes.store.ts'

/** Marks a backup of such a status as failed, and says so. @param fault a sentence without its full stop */
export async function fail(
  tx: TenantTx,
  id: string,
  from: readonly Status[],
  fault: string,
): Promise<Repaired> {
  const failed = await failBackup(tx, id, from, fault)
  if (!failed) return 'already gone'
  await append(tx, SYSTEM, {
    action: 'backup.failed',
    // What is of everything is the platform's, whose webhooks are to hear of it.
    tenant_id: failed.tenant_id ?? (await findPlatformTenant(tx))?.id ?? null,
    resource_type: 'backup',
    resource_id: id,
    changes: { type: failed.type, error: `${fault}.` },
  })
  return 'repaired'
}
