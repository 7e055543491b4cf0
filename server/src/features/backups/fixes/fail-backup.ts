import type { TenantTx } from '../../../platform/db/index.ts'
import type { Repaired } from '../../../platform/feature/fix.ts'
import { SYSTEM } from '../../../platform/journal/index.ts'
import { appendBackupEvent } from '../backups.journal.ts'
import type { BackupStatus } from '../backups.table.ts'
import { failBackup } from './fixes.store.ts'

/**
 * Marks a backup as failed and records it in the journal. Returns 'already gone' if the backup is no longer in one of
 * the `from` statuses.
 * @param fault an error message without the final full stop
 */
export async function fail(
  tx: TenantTx,
  id: string,
  from: readonly BackupStatus[],
  fault: string,
): Promise<Repaired> {
  const failed = await failBackup(tx, id, from, fault)
  if (!failed) return 'already gone'
  await appendBackupEvent(tx, SYSTEM, 'backup.failed', { id, ...failed }, { error: `${fault}.` })
  return 'repaired'
}
