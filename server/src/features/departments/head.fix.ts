/** The self-healing check for departments whose head is not eligible, for example after a block or a change of role. */
import type { TenantTx } from '../../platform/db/index.ts'
import { type Finding, type Fix, idIn } from '../../platform/feature/fix.ts'
import { append, changesBetween, journalEntry, SYSTEM } from '../../platform/journal/index.ts'
import type { DepartmentRow } from './departments.schema.ts'
import type { MayHead } from './departments.service.ts'
import { lockDepartment, updateDepartment } from './departments.store.ts'

/**
 * A department whose head is not eligible. `role` and `is_active` are null if the head does not exist or belongs to
 * another tenant. The data of other tenants must stay hidden.
 */
interface Unfit {
  department_id: number
  tenant_id: number
  head_doctor_id: number
  role: string | null
  is_active: boolean | null
  is_own: boolean
}

/** Finds departments with ineligible heads. The users feature passes this in, because it imports departments. */
export type FindUnfitHeads = (
  tx: TenantTx,
  which: { after: number; limit: number } | { ids: readonly number[] },
) => Promise<{ unfit: Unfit[]; looked_at: number; last: number | null }>

/** The number of departments that are checked at a time. For each, the check also reads the head's row in `users`. */
const SLICE = 1000

const subjectOf = (id: number) => `department ${id}`
const idOf = (finding: Finding) => Number(idIn(finding))

export const departmentHeadFix = (mayHead: MayHead, findUnfitHeads: FindUnfitHeads): Fix => ({
  key: 'departments.head',
  title: 'A department has a head who is not eligible',
  description:
    'The head of the department was blocked, deleted or given another role after the choice, or belongs to another tenant.',
  severity: 'low',
  automatic: false,
  plan: 'Removes the head doctor from the department. An admin can then choose another one.',
  runbook: 'before-confirming.md',

  async detect(tx, from) {
    const which = { after: Number(from ?? 0), limit: SLICE }
    const { unfit, looked_at, last } = await findUnfitHeads(tx, which)
    const isFull = looked_at === SLICE && last !== null
    const findings = unfit.map(findingOf)
    return { looked_at, findings, ...(isFull ? { next: String(last) } : {}) }
  },

  async recheck(tx, findings) {
    return (await findUnfitHeads(tx, { ids: findings.map(idOf) })).unfit.map(findingOf)
  },

  repair: (finding, repairing) =>
    repairing(async (tx) => {
      const before = await lockDepartment(tx, idOf(finding))
      const head = before?.head_doctor_id
      if (!before || !head || (await mayHead(tx, before.tenant_id, head))) return 'already gone'
      const after = await updateDepartment(tx, before.id, { head_doctor_id: null })
      if (!after) return 'already gone'
      tx.invalidate(`department:${before.id}`)
      await append(tx, SYSTEM, {
        ...journalEntry('department.updated', 'department', after),
        changes: changesBetween<DepartmentRow>(before, after, ['head_doctor_id']),
      })
      return 'repaired'
    }),
})

const findingOf = (unfit: Unfit): Finding => {
  const { department_id, tenant_id, ...measured } = unfit
  return {
    tenant_id,
    subject: subjectOf(department_id),
    measured,
    expected: { role: 'doctor', is_active: true, is_own: true },
  }
}
