/** SQL of payment reconciliation: stores the position in a provider's list of payments, and the lease of a run. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { Provider } from '../payment-facts.ts'
import '../payments.table.ts'

/** A claimed reconciliation run. No other node starts a run while its lease is valid. */
export interface Run {
  provider: Provider
  /** The fencing token. A node with an outdated value changes nothing. */
  attempts: number
  /** The start of the run by the database's clock, because the clock of a node may be wrong. */
  began_at: string
  /** The start of the last completed run, ISO 8601. Null before the first completed run. */
  reconciled_to: string | null
  failures: number
}

/** Returns SQL for the database's time plus `ms`. The nodes' clocks are not used, because they may differ. */
const inMs = (ms: number) => sql`now() + ${ms}::float8 * interval '1 millisecond'`

/** Schedules a run of the provider's reconciliation for now, unless a run is already due. */
export async function scheduleReconciliation(tx: TenantTx, provider: Provider): Promise<void> {
  await sql`
    insert into payment_reconciliations as r (provider, due_at) values (${provider}, now())
    on conflict (provider) do update set due_at = least(r.due_at, excluded.due_at)`.execute(tx.db)
}

/** The duration of a lease, and the plausible limits of stored times, in milliseconds. */
export interface ReconciliationLease {
  holds: number
  /** The latest plausible due time and end of a lease, in milliseconds from now. A wrong clock wrote any later time. */
  latest: { due: number; leased: number }
}

/** Claims the provider's run. Returns undefined if no run is due or another node has leased it. */
export async function claimReconciliation(
  tx: TenantTx,
  provider: Provider,
  { holds, latest }: ReconciliationLease,
): Promise<Run | undefined> {
  const { rows } = await sql<Run>`
    update payment_reconciliations
    set attempts = attempts + 1, leased_until = ${inMs(holds)}
    where provider = ${provider}
      and (due_at <= now() or due_at > ${inMs(latest.due)})
      and (leased_until is null or leased_until <= now() or leased_until > ${inMs(latest.leased)})
    returning provider, attempts, now() as began_at, reconciled_to, failures`.execute(tx.db)
  return rows[0]
}

/** Extends the lease of a run to `holds` milliseconds from now. Returns false if another node has claimed the run. */
export async function renewReconciliation(
  tx: TenantTx,
  { provider, attempts }: Run,
  holds: number,
): Promise<boolean> {
  const { rows } = await sql`
    update payment_reconciliations set leased_until = ${inMs(holds)}
    where provider = ${provider} and attempts = ${attempts} returning 1`.execute(tx.db)
  return rows.length > 0
}

/**
 * Ends a run. The next run is due `end.pause` milliseconds after the start of this run.
 * @param end `reconciled_to` is the new position in the list, or null for an incomplete run
 */
export async function finishReconciliation(
  tx: TenantTx,
  { provider, attempts, began_at }: Run,
  end: { reconciled_to: string | null; pause: number; failures: number; is_refused: boolean },
): Promise<void> {
  await sql`
    update payment_reconciliations
    set reconciled_to = coalesce(${end.reconciled_to}::timestamptz, reconciled_to),
      due_at = ${began_at}::timestamptz + ${end.pause}::float8 * interval '1 millisecond',
      failures = ${end.failures},
      is_refused = ${end.is_refused}, leased_until = null
    where provider = ${provider} and attempts = ${attempts}`.execute(tx.db)
}
