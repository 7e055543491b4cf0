/** The fault of a department whose head may no longer be it: they were blocked, or given another role. */
import type { TenantTx } from '../../platform/db/index.ts'
import type { Finding, Fix } from '../../platform/fix.ts'
import { append, changesBetween, journalEntry, SYSTEM } from '../../platform/journal/index.ts'
import { idIn } from '../../platform/subject.ts'
import type { DepartmentRow } from './departments.schema.ts'
import type { MayHead } from './departments.service.ts'
import { lockDepartment, updateDepartment } from './departments.store.ts'

/** A head of another tenant reads like one that does not exist: its role and state are not the department's to see. */
interface Unfit {
  department_id: number
  tenant_id: number
  head_doctor_id: number
  role: string | null
  is_active: boolean | null
  is_own: boolean
}

/** Finds what it is about; handed in, as users know departments and not the reverse. */
export type FindUnfitHeads = (
  tx: TenantTx,
  which: { after: number; limit: number } | { ids: readonly number[] },
) => Promise<{ unfit: Unfit[]; looked_at: number; last: number | null }>

/** Departments in one look: each head is a row of users somewhere else. */
const SLICE = 1000

const subjectOf = (id: number) => `department ${id}`
const idOf = (finding: Finding) => Number(idIn(finding))

export const departmentHeadFix = (mayHead: MayHead, findUnfitHeads: FindUnfitHeads): Fix => ({
  key: 'departments.head',
  title: 'A department is headed by somebody who may not be its head',
  description:
    'The head of a department was blocked, deleted or given another role after being chosen, or is of another tenant. The department names somebody who is not there for it.',
  severity: 'low',
  automatic: false,
  plan: 'Leaves the department without a head, for its admin to choose another.',
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
