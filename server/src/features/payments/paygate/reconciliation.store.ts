/** The SQL of the position up to which a provider's own list of payments was read, and of who reads it. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { Provider } from '../payment-facts.ts'
import '../payments.table.ts'

/** A run that was claimed: nobody else begins one while its lease holds. */
export interface Run {
  provider: Provider
  /** The fence: who comes with an old number changes nothing. */
  attempts: number
  /** By the database's clock, as positions are: a node's may be wrong. */
  began_at: string
  /** The beginning of the last run that came to its end. */
  reconciled_to: string | null
  /** Runs in a row that came to no end. */
  failures: number
}

/** So many milliseconds from now, by the database's clock: nodes need not agree on the time. */
const inMs = (ms: number) => sql`now() + ${ms}::float8 * interval '1 millisecond'`

/** Makes a run due, unless one is due before. */
export async function arm(tx: TenantTx, provider: Provider): Promise<void> {
  await sql`
    insert into payment_reconciliations as r (provider, due_at) values (${provider}, now())
    on conflict (provider) do update set due_at = least(r.due_at, excluded.due_at)`.execute(tx.db)
}

/** Milliseconds. */
export interface Lease {
  holds: number
  /** What is due or leased later than so far ahead was written by a clock that was wrong. */
  latest: { due: number; leased: number }
}

/** Claims the run if it is due and nobody is at it. */
export async function claim(
  tx: TenantTx,
  provider: Provider,
  { holds, latest }: Lease,
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

/** Returns whether the lease still held; then it does for so many milliseconds more. */
export async function renew(
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
 * Ends the run. The next is due so many milliseconds behind its beginning.
 * @param reconciled_to the new position; null for one that came to no end
 */
export async function finish(
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
