/** Appends journal entries for events of backups. */
import type { TenantTx } from '../../platform/db/index.ts'
import { type Action, type Actor, append } from '../../platform/journal/index.ts'
import { eventTenantId } from '../tenants/index.ts'
import type { BackupType } from './file/format.ts'

export interface JournaledBackup {
  id: string
  type: BackupType
  tenant_id: number | null
}

export async function appendBackupEvent(
  tx: TenantTx,
  actor: Actor,
  action: Extract<Action, `backup.${string}`>,
  { id, type, tenant_id }: JournaledBackup,
  changes: object = {},
): Promise<void> {
  await append(tx, actor, {
    action,
    tenant_id: await eventTenantId(tx, tenant_id),
    resource_type: 'backup',
    resource_id: id,
    changes: { type, ...changes },
  })
}
