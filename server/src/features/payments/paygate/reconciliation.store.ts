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

/** Makes a run due, unless one is due before. */
export async function arm(tx: TenantTx, provider: Provider, at: string): Promise<void> {
  await sql`
    insert into payment_reconciliations as r (provider, due_at) values (${provider}, ${at})
    on conflict (provider) do update set due_at = least(r.due_at, excluded.due_at)`.execute(tx.db)
}

export interface Lease {
  now: string
  until: string
  /** What is due or leased beyond these was written by a clock that was wrong. */
  latest: { due_at: string; leased_until: string }
}

/** Claims the run if it is due and nobody is at it. */
export async function claim(
  tx: TenantTx,
  provider: Provider,
  { now, until, latest }: Lease,
): Promise<Run | undefined> {
  const { rows } = await sql<Run>`
    update payment_reconciliations
    set attempts = attempts + 1, leased_until = ${until}::timestamptz
    where provider = ${provider}
      and (due_at <= ${now}::timestamptz or due_at > ${latest.due_at}::timestamptz)
      and (leased_until is null or leased_until <= ${now}::timestamptz
        or leased_until > ${latest.leased_until}::timestamptz)
    returning provider, attempts, now() as began_at, reconciled_to, failures`.execute(tx.db)
  return rows[0]
}

/** Returns whether the lease still held; then it does until the new time. */
export async function renew(
  tx: TenantTx,
  { provider, attempts }: Run,
  until: string,
): Promise<boolean> {
  const { rows } = await sql`
    update payment_reconciliations set leased_until = ${until}::timestamptz
    where provider = ${provider} and attempts = ${attempts} returning 1`.execute(tx.db)
  return rows.length > 0
}

/** Ends the run. @param reconciled_to the new position; null for one that came to no end */
export async function finish(
  tx: TenantTx,
  { provider, attempts }: Run,
  end: { reconciled_to: string | null; due_at: string; failures: number; is_refused: boolean },
): Promise<void> {
  await sql`
    update payment_reconciliations
    set reconciled_to = coalesce(${end.reconciled_to}::timestamptz, reconciled_to),
      due_at = ${end.due_at}::timestamptz, failures = ${end.failures},
      is_refused = ${end.is_refused}, leased_until = null
    where provider = ${provider} and attempts = ${attempts}`.execute(tx.db)
}
