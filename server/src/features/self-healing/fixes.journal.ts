/** Writes a journal entry for each tenant with findings. The platform tenant gets findings without a tenant. */
import type { TenantTx } from '../../platform/db/index.ts'
import { type Actor, appendAll, type NewEntry, SYSTEM } from '../../platform/journal/index.ts'
import { eventTenantId } from '../tenants/index.ts'
import { byTenant } from './detect/finding-name.ts'
import type { Named } from './detect/findings.store.ts'
import type { FixRow } from './fixes.store.ts'
import type { RepairOutcome } from './repair/repair.ts'
import type { FixStatus } from './self-healing.table.ts'

type JournaledFix = Pick<FixRow, 'id' | 'key' | 'severity'>

/** The maximum number of subjects listed in an entry. The entry counts all findings. */
const NAMED = 20

export const subjectsOf = (some: readonly Named[]) =>
  some.slice(0, NAMED).map(({ subject }) => subject)

const entry = (
  verb: 'proposed' | 'applied' | 'failed',
  { id, key, severity }: JournaledFix,
  tenant_id: number | null,
  changes: object,
): NewEntry => ({
  action: `self_healing.${verb}`,
  tenant_id,
  resource_type: 'fix',
  resource_id: id,
  changes: { key, severity, ...changes },
})

export interface Proposed {
  appeared: readonly Named[]
  /** Why the findings are not repaired automatically. */
  reason: string | null
  /** True if confirming the fix repairs the fault. False if a person has to repair it. */
  isRepairable: boolean
}

/** Records new findings that need a confirmation or a manual repair, in one journal entry for each tenant. */
export async function appendProposed(
  tx: TenantTx,
  fix: JournaledFix,
  { appeared, reason, isRepairable }: Proposed,
): Promise<void> {
  const entries = [...byTenant(appeared)].map(([tenant, own]) =>
    entry('proposed', fix, tenant, {
      occurrences: own.length,
      subjects: subjectsOf(own),
      ...(isRepairable ? {} : { repairable: false }),
      // The reason may mention other tenants, so only the platform's entry contains it.
      ...(tenant === null && reason !== null ? { reason } : {}),
    }),
  )
  appendAll(tx, SYSTEM, await ofSomebody(tx, entries))
}

async function ofSomebody(tx: TenantTx, entries: readonly NewEntry[]): Promise<NewEntry[]> {
  const platform = await eventTenantId(tx)
  return entries.map((entry) => ({ ...entry, tenant_id: entry.tenant_id ?? platform }))
}

export interface Applied {
  before: { status: FixStatus; findings: readonly Named[] }
  outcome: Pick<RepairOutcome, 'repaired' | 'failed'>
  left: readonly Named[]
}

/** Records a repair in one journal entry for each tenant. */
export async function appendApplied(
  tx: TenantTx,
  actor: Actor,
  fix: JournaledFix,
  { before, outcome, left }: Applied,
): Promise<void> {
  const of = (some: readonly Named[], tenant: number | null) =>
    some.filter(({ tenant_id }) => tenant_id === tenant)
  const failed = outcome.failed.map(({ finding }) => finding)
  const entries = [...byTenant([...before.findings, ...left])].map(([tenant]) => {
    const [found, remaining] = [of(before.findings, tenant), of(left, tenant)]
    const verb = remaining.length + of(failed, tenant).length > 0 ? 'failed' : 'applied'
    return entry(verb, fix, tenant, {
      before: { status: before.status, occurrences: found.length },
      after: { status: verb, occurrences: remaining.length },
      repaired: of(outcome.repaired, tenant).length,
      subjects: subjectsOf(found),
    })
  })
  appendAll(tx, actor, await ofSomebody(tx, entries))
}
