/**
 * The journal's entries of self-healing: one for each tenant that it is about, and one for what is nobody's:
 * that is the platform tenant's, whose webhooks are to hear of it.
 */
import type { TenantTx } from '../../platform/db/index.ts'
import { type Actor, appendAll, type Entry, SYSTEM } from '../../platform/journal/index.ts'
import { findPlatformTenant } from '../tenants/index.ts'
import type { FixRow } from './fixes.store.ts'
import type { Named } from './look/findings.store.ts'
import { byTenant } from './look/named.ts'
import type { Outcome } from './repair/repair.ts'
import type { Status } from './self-healing.table.ts'

type Told = Pick<FixRow, 'id' | 'key' | 'severity'>

/** An entry names so many, and counts the others. */
const NAMED = 20

export const subjectsOf = (some: readonly Named[]) =>
  some.slice(0, NAMED).map(({ subject }) => subject)

const entry = (
  verb: 'proposed' | 'applied' | 'failed',
  { id, key, severity }: Told,
  tenant_id: number | null,
  changes: object,
): Entry => ({
  action: `self_healing.${verb}`,
  tenant_id,
  resource_type: 'fix',
  resource_id: id,
  changes: { key, severity, ...changes },
})

export interface Proposed {
  appeared: readonly Named[]
  /** Why what is automatic waits. */
  reason: string | null
  /** Whether a confirmation would repair it; otherwise people have to. */
  isRepairable: boolean
}

/** Tells of what has appeared and waits for people, each tenant of its own. */
export async function tellProposed(
  tx: TenantTx,
  fix: Told,
  { appeared, reason, isRepairable }: Proposed,
): Promise<void> {
  const entries = [...byTenant(appeared)].map(([tenant, own]) =>
    entry('proposed', fix, tenant, {
      occurrences: own.length,
      subjects: subjectsOf(own),
      ...(isRepairable ? {} : { repairable: false }),
      // It may speak of others.
      ...(tenant === null && reason !== null ? { reason } : {}),
    }),
  )
  appendAll(tx, SYSTEM, await ofSomebody(tx, entries))
}

async function ofSomebody(tx: TenantTx, entries: readonly Entry[]): Promise<Entry[]> {
  const platform = (await findPlatformTenant(tx))?.id ?? null
  return entries.map((entry) => ({ ...entry, tenant_id: entry.tenant_id ?? platform }))
}

export interface Applied {
  before: { status: Status; findings: readonly Named[] }
  outcome: Pick<Outcome, 'repaired' | 'failed'>
  /** What was found when it was looked at again. */
  left: readonly Named[]
}

/** Tells of a repair, each tenant of its own. */
export async function tellApplied(
  tx: TenantTx,
  actor: Actor,
  fix: Told,
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
