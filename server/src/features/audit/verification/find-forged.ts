/** Verifies again that the service wrote sealed entries, in case somebody changed an entry together with its leaf. */
import type { TenantTx } from '../../../platform/db/index.ts'
import { isMarkedBy } from '../../../platform/journal/index.ts'
import { storedCommitments } from '../transparency/leaf.ts'
import type { LeafRow } from '../transparency/read-log.store.ts'
import { findMacs } from './verifications.store.ts'

/**
 * Returns the rows whose entries have another MAC than the service computes. Cannot verify erased entries, or entries from
 * before the service key, and accepts them.
 */
export async function findForged(tx: TenantTx, rows: readonly LeafRow[]): Promise<LeafRow[]> {
  const { current: key } = tx.entryKey
  if (!key) return []
  const macs = await findMacs(tx, rows)
  return rows.filter(({ entry, ...leaf }) => {
    const mac = entry && macs.get(entry.id)
    const commitments = entry && storedCommitments(entry, leaf)
    if (!commitments || mac === undefined) return false
    const { who_salt, what_salt } = leaf
    return !isMarkedBy(key, { ...entry, who_salt, what_salt, mac }, commitments)
  })
}
