/** SQL that stores arriving notifications, a whole batch in one statement. */
import { sql } from 'kysely'
import { byteaArray, lockUntilEnd, statement, type TenantTx } from '../../../platform/db/index.ts'
import type { Notice, Provider } from '../payment-facts.ts'
import type { SealedFields } from './sealed.ts'
import '../payments.table.ts'

/**
 * A notice to store. `holds_key` is true if the notice is verified or the provider's API can confirm it. Only one
 * stored notice per event key can have it set.
 */
export interface Arrival extends Notice, SealedFields {
  holds_key: boolean
  times: number
  received_at: string
  verified_at: string | null
  seal_id: string
}

/**
 * Stores arrivals and counts repeats. A repeat makes an unconfirmed notification due immediately, or when its current
 * lease ends. It also replaces the content of a notification that cannot be decrypted. A due time is never later than
 * the database's clock, because the clock of the receiving node may be ahead. Sends the statement without waiting for
 * its result, which the commit does.
 * @param arrivals must not contain two arrivals that hold the same key
 */
export function insertArrivals(tx: TenantTx, arrivals: readonly Arrival[]): void {
  const column = <K extends keyof Arrival>(name: K) => arrivals.map((arrival) => arrival[name])
  tx.send(
    insertAll({
      provider: column('provider'),
      event_key: column('event_key'),
      type: column('type'),
      provider_payment_id: column('provider_payment_id'),
      holds_key: column('holds_key'),
      times: column('times'),
      received_at: column('received_at'),
      verified_at: column('verified_at'),
      seal_id: column('seal_id'),
      sealed_body: byteaArray(column('sealed_body')),
      sealed_signature: byteaArray(column('sealed_signature')),
    }),
  )
}

/** The SQL condition for a notification that cannot be decrypted. A repeated arrival replaces its content. */
const isLost = sql`(n.state = 'failed' and n.reason = 'does_not_open')`
/** The SQL condition for a notification that a repeat makes due: unconfirmed, or impossible to decrypt. */
const isOpen = sql`(n.verified_at is null and n.state in ('received', 'failed') or ${isLost})`

const insertAll = statement<Record<string, unknown>>(
  (value) => sql`
    insert into payment_notifications as n (provider, event_key, type, provider_payment_id, holds_key,
      times_received, received_at, verified_at, seal_id, sealed_body, sealed_signature,
      armed_at, state, reason, due_at, waiting_since)
    select a.provider, a.event_key, a.type, a.provider_payment_id, a.holds_key, a.times_received,
      -- Retention goes by this time, so a node whose clock is behind must not make it old.
      greatest(a.received_at, now() - interval '1 minute'), a.verified_at, a.seal_id, a.sealed_body, a.sealed_signature, a.received_at,
      case when a.holds_key then 'received' else 'unverified' end,
      case when a.holds_key then null else 'not_configured' end,
      case when a.holds_key then least(a.received_at, now()) end,
      case when a.holds_key then a.received_at end
    from unnest(${value('provider')}::text[], ${value('event_key')}::text[], ${value('type')}::text[],
      ${value('provider_payment_id')}::text[], ${value('holds_key')}::boolean[],
      ${value('times')}::integer[], ${value('received_at')}::timestamptz[],
      ${value('verified_at')}::timestamptz[], ${value('seal_id')}::uuid[],
      ${value('sealed_body')}::bytea[], ${value('sealed_signature')}::bytea[])
      as a(provider, event_key, type, provider_payment_id, holds_key, times_received, received_at,
        verified_at, seal_id, sealed_body, sealed_signature)
    on conflict (provider, event_key) where holds_key do update set
      times_received = n.times_received + excluded.times_received,
      state = case when ${isOpen} then 'received' else n.state end,
      reason = case when ${isOpen} then null else n.reason end,
      due_at = case when ${isOpen} then excluded.due_at else n.due_at end,
      armed_at = case when ${isOpen} then excluded.armed_at else n.armed_at end,
      waiting_since = case when ${isOpen} then coalesce(n.waiting_since, excluded.waiting_since)
        else n.waiting_since end,
      tries = case when ${isOpen} then 0 else n.tries end,
      verified_at = case when ${isLost} then excluded.verified_at else n.verified_at end,
      tenant_id = case when ${isLost} then null else n.tenant_id end,
      payment_id = case when ${isLost} then null else n.payment_id end,
      seal_id = case when ${isLost} then excluded.seal_id else n.seal_id end,
      sealed_body = case when ${isLost} then excluded.sealed_body else n.sealed_body end,
      sealed_signature = case when ${isLost} then excluded.sealed_signature
        else n.sealed_signature end`,
)

/**
 * Returns the number of unverified notifications of the provider, up to `most`, and their stored size in bytes.
 * Prevents other transactions from adding unverified notifications until this transaction ends.
 */
export async function countUnverified(
  tx: TenantTx,
  provider: Provider,
  most: number,
): Promise<{ count: number; bytes: number }> {
  await lockUntilEnd(tx, 'unverifiedNotifications')
  const { rows } = await sql<{ count: number; bytes: number }>`
    select count(*) as count, coalesce(sum(bytes), 0)::bigint as bytes from (
      select octet_length(sealed_body) + coalesce(octet_length(sealed_signature), 0) as bytes
      from payment_notifications
      where provider = ${provider} and state = 'unverified' limit ${most}) u`.execute(tx.db)
  return rows[0] ?? { count: 0, bytes: 0 }
}
