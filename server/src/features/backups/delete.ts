/** Deletes a backup, whoever wants it: a person, or retention. */

import { lockUntilEnd, type TenantTx } from '../../platform/db/index.ts'
import { type Actor, append } from '../../platform/journal/index.ts'
import { canFail } from '../../platform/observe/can-fail.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { deleteBackup, lockForDeletion } from './backups.store.ts'
import type { BackupType } from './file/format.ts'
import { fileName, sidecarName } from './file/names.ts'
import type { Store } from './stores/store.ts'

export interface Deletable {
  id: string
  type: BackupType
  created_at: string
  rewritten_at: string | null
  /** The tenant whose journal hears of it. */
  told: number | null
}

/**
 * Deletes the row, what the store's list shows of it, and behind the commit the file. Nothing where it
 * is gone, where a job about it waits or runs, or where the store keeps it locked.
 */
export async function deleteWithFile(
  tx: TenantTx,
  actor: Actor,
  { id, type, created_at, rewritten_at, told }: Deletable,
  { files, log }: { files: Store; log: Logger },
): Promise<'gone' | 'busy' | 'locked' | 'free'> {
  await lockUntilEnd(tx, 'storeDeletion')
  const state = await lockForDeletion(tx, id)
  if (state !== 'free') return state
  // Before the row: a file that has neither row nor list entry is an orphan, which nobody adopts.
  if (!(await files.delete(sidecarName(id)))) return 'locked'
  await deleteBackup(tx, id)
  await append(tx, actor, {
    action: 'backup.deleted',
    tenant_id: told,
    resource_type: 'backup',
    resource_id: id,
    changes: { type, created_at },
  })
  // Behind it: a row without its file would be a false promise.
  tx.afterCommit(
    () => void canFail(files.delete(fileName(id, rewritten_at)), "deleting a backup's file", log),
  )
  return state
}
