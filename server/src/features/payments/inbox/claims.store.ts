/**
 * SQL that claims and settles notifications. A claim is a lease: until it ends, no other worker can claim the
 * notification, even if something makes it due again. `attempts` is a fencing token: a worker with an outdated value
 * can change nothing.
 */
import { sql } from 'kysely'
import { HOUR } from '../../../lib/clock.ts'
import { byteaArray, statement, type TenantTx } from '../../../platform/db/index.ts'
import type { Provider, UnusableReason } from '../payment-facts.ts'
import type { NotificationState } from '../payments.table.ts'
import type { SealedFields, SealPlace } from './sealed.ts'

export interface Claimed extends SealPlace, SealedFields {
  id: number
  provider: Provider
  attempts: number
  tries: number
  armed_at: string
}

/** The SQL expression for the time from which a notification can be claimed. The index uses the same expression. */
export const freeAt = sql`greatest(due_at, leased_until)`

/** How far pauses and leases may end in the future. A node with a wrong clock wrote any later time. */
export const MAX_AHEAD_MS = HOUR

interface Lease {
  now: string
  until: string
}

/** Leases up to `limit` due notifications to the caller, starting with those that have waited longest. */
export async function claimNotifications(
  tx: TenantTx,
  provider: Provider,
  { now, until }: Lease,
  limit: number,
): Promise<Claimed[]> {
  const { rows } = await sql<Claimed>`
    with due as materialized (
      select id from payment_notifications
      where provider = ${provider} and state = 'received' and ${freeAt} <= ${now}::timestamptz
      order by ${freeAt} limit ${limit} for update skip locked
    )
    update payment_notifications n
    set attempts = n.attempts + 1, leased_until = ${until}::timestamptz
    from due where n.id = due.id
    returning n.id, n.tenant_id, n.provider, n.attempts, n.tries, n.armed_at, n.seal_id,
      n.sealed_body, n.sealed_signature`.execute(tx.db)
  return rows.sort((a, b) => a.id - b.id)
}

/** Locks up to `limit` due notifications, which the same transaction settles. A rollback leaves them unchanged. */
export async function lockDue(
  tx: TenantTx,
  provider: Provider,
  now: string,
  limit: number,
): Promise<Claimed[]> {
  const { rows } = await sql<Claimed>`
    select id, tenant_id, provider, attempts + 1 as attempts, tries, armed_at, seal_id, sealed_body,
      sealed_signature
    from payment_notifications
    where provider = ${provider} and state = 'received' and ${freeAt} <= ${now}::timestamptz
    order by ${freeAt} limit ${limit} for no key update skip locked`.execute(tx.db)
  return rows.sort((a, b) => a.id - b.id)
}

/** Returns when the next notification of the provider can be claimed (ISO 8601), or null if none is pending. */
export async function nextDue(tx: TenantTx, provider: Provider): Promise<string | null> {
  const { rows } = await sql<{ free_at: string | null }>`
    select min(${freeAt}) as free_at from payment_notifications
    where provider = ${provider} and state = 'received'`.execute(tx.db)
  return rows[0]?.free_at ?? null
}

/**
 * Locks notifications until the transaction ends, in the same order in which repeated arrivals lock them. Returns the
 * ids of those whose lease is still valid, with their current `armed_at`.
 */
export async function lockClaimed(
  tx: TenantTx,
  claimed: readonly Claimed[],
): Promise<Map<number, string>> {
  const { rows } = await sql<Pick<Claimed, 'id' | 'armed_at'>>`
    select n.id, n.armed_at from payment_notifications n
    join unnest(${claimed.map(({ id }) => id)}::bigint[],
      ${claimed.map(({ attempts }) => attempts)}::integer[]) as c(id, attempts)
      on c.id = n.id and c.attempts = n.attempts
    where n.state = 'received' order by n.provider, n.event_key collate "C", n.id
    for no key update of n`.execute(tx.db)
  return new Map(rows.map(({ id, armed_at }) => [id, armed_at]))
}

export interface NotificationOutcome {
  id: number
  state: NotificationState
  reason: UnusableReason | null
  /** The tenant. If it changes, `sealed` contains the fields encrypted with the new tenant's key. */
  tenant_id: number | null
  sealed: SealedFields | null
  payment_id: number | null
  provider_payment_id: string | null
  attempts: number
  tries: number
  /** The new start of the retry period. Null keeps the stored value. */
  armed_at: string | null
  /** The time of the next retry. Null if the notification is not retried. */
  due_at: string | null
  /** The time when the notification was verified. Null if this attempt did not verify it. */
  verified_at: string | null
  processed_at: string | null
}

/** Writes the outcomes of locked notifications without waiting for the result, which the commit does. */
export function settleNotifications(tx: TenantTx, outcomes: readonly NotificationOutcome[]): void {
  const column = <K extends keyof NotificationOutcome>(name: K) =>
    outcomes.map((outcome) => outcome[name])
  tx.send(
    settleAll({
      id: column('id'),
      state: column('state'),
      reason: column('reason'),
      tenant_id: column('tenant_id'),
      payment_id: column('payment_id'),
      provider_payment_id: column('provider_payment_id'),
      attempts: column('attempts'),
      tries: column('tries'),
      armed_at: column('armed_at'),
      due_at: column('due_at'),
      verified_at: column('verified_at'),
      processed_at: column('processed_at'),
      sealed_body: byteaArray(outcomes.map(({ sealed }) => sealed?.sealed_body ?? null)),
      sealed_signature: byteaArray(outcomes.map(({ sealed }) => sealed?.sealed_signature ?? null)),
    }),
  )
}

const settleAll = statement<Record<string, unknown>>(
  (value) => sql`update payment_notifications n
    set state = o.state, reason = o.reason, tenant_id = o.tenant_id, payment_id = o.payment_id,
      provider_payment_id = coalesce(o.provider_payment_id, n.provider_payment_id),
      attempts = o.attempts, tries = o.tries, armed_at = coalesce(o.armed_at, n.armed_at),
      due_at = o.due_at, leased_until = null,
      waiting_since = case when o.state = 'received' then n.waiting_since end,
      verified_at = coalesce(n.verified_at, o.verified_at), processed_at = o.processed_at,
      sealed_body = coalesce(o.sealed_body, n.sealed_body),
      sealed_signature = case when o.sealed_body is null then n.sealed_signature
        else o.sealed_signature end
    from unnest(${value('id')}::bigint[], ${value('state')}::text[], ${value('reason')}::text[],
      ${value('tenant_id')}::bigint[], ${value('payment_id')}::bigint[],
      ${value('provider_payment_id')}::text[], ${value('attempts')}::integer[],
      ${value('tries')}::integer[], ${value('armed_at')}::timestamptz[],
      ${value('due_at')}::timestamptz[], ${value('verified_at')}::timestamptz[],
      ${value('processed_at')}::timestamptz[], ${value('sealed_body')}::bytea[],
      ${value('sealed_signature')}::bytea[])
      as o(id, state, reason, tenant_id, payment_id, provider_payment_id, attempts, tries, armed_at,
        due_at, verified_at, processed_at, sealed_body, sealed_signature)
    where n.id = o.id`,
)

/** Releases the leases of notifications, so that other workers can claim them immediately. */
export async function releaseNotifications(
  tx: TenantTx,
  claimed: readonly Claimed[],
): Promise<void> {
  await sql`update payment_notifications n set leased_until = null
    from unnest(${claimed.map(({ id }) => id)}::bigint[],
      ${claimed.map(({ attempts }) => attempts)}::integer[]) as c(id, attempts)
    where n.id = c.id and n.attempts = c.attempts and n.state = 'received'`.execute(tx.db)
}
