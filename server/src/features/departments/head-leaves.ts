/** Updates departments when their head is deleted. */
import type { TenantTx } from '../../platform/db/index.ts'
import { type Actor, append, changesBetween, journalEntry } from '../../platform/journal/index.ts'
import type { DepartmentRow } from './departments.schema.ts'
import { clearHeads } from './departments.store.ts'

/** Removes a user as head from all their departments, and writes a journal entry for each department. */
export async function leaveHeadless(
  tx: TenantTx,
  actor: Actor,
  user: { id: number; tenant_id: number },
): Promise<void> {
  for (const after of await clearHeads(tx, user)) {
    const before = { ...after, head_doctor_id: user.id }
    tx.invalidate(`department:${after.id}`)
    await append(tx, actor, {
      ...journalEntry('department.updated', 'department', after),
      changes: changesBetween<DepartmentRow>(before, after, ['head_doctor_id']),
    })
  }
}
