/** Deletes one backup. Called by the API and by retention. */

import { lockUntilEnd, type TenantTx } from '../../platform/db/index.ts'
import type { Actor } from '../../platform/journal/index.ts'
import { canFail } from '../../platform/observe/can-fail.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { appendBackupEvent, type JournaledBackup } from './backups.journal.ts'
import { deleteBackup, lockForDeletion } from './backups.store.ts'
import { fileName, sidecarName } from './file/names.ts'
import type { Store } from './stores/store.ts'

export interface Deletable extends JournaledBackup {
  created_at: string
  rewritten_at: string | null
}

/**
 * Deletes a backup: its row, its list entry in the store and, after the commit, its file. Returns 'free' if it was
 * deleted. Otherwise deletes nothing and returns why: 'gone', 'busy' or 'locked'.
 */
export async function deleteWithFile(
  tx: TenantTx,
  actor: Actor,
  backup: Deletable,
  { files, log }: { files: Store; log: Logger },
): Promise<'gone' | 'busy' | 'locked' | 'free'> {
  const { id, created_at, rewritten_at } = backup
  await lockUntilEnd(tx, 'storeDeletion')
  const state = await lockForDeletion(tx, id)
  if (state !== 'free') return state
  // Deletes the list entry before the row. If the row were deleted first, a crash would leave a list entry with which
  // the backup could be registered again.
  if (!(await files.delete(sidecarName(id)))) return 'locked'
  await deleteBackup(tx, id)
  await appendBackupEvent(tx, actor, 'backup.deleted', backup, { created_at })
  // Deletes the file only after the commit, because a row must never exist without its file.
  tx.afterCommit(
    () => void canFail(files.delete(fileName(id, rewritten_at)), 'deletion of a backup file', log),
  )
  return state
}
