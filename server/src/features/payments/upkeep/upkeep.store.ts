/** SQL for the maintenance and the health check of the payment inbox. */
import { sql } from 'kysely'
import { type PurgeRows, purgerOf, type TenantTx } from '../../../platform/db/index.ts'
import { freeAt } from '../inbox/claims.store.ts'
import type { Provider } from '../payment-facts.ts'
import '../payments.table.ts'

/** The states that may need an operator. Such a notification is pending, or cannot continue automatically. */
export const OPEN_STATES = ['received', 'unverified', 'failed'] as const

export interface OpenCount {
  provider: Provider
  state: (typeof OPEN_STATES)[number]
  /** The number of notifications, up to the limit of the query. */
  count: number
  /** Since when the oldest `received` notification is pending. Null if all wait only for refunds to be counted. */
  since: string | null
  /** True if any of the notifications is pending because the provider rejects the credentials. */
  isRefused: boolean
}

/** The SQL condition that excludes notifications of deleted tenants, which no operator has to handle. */
const isLiving = sql`(n.tenant_id is null
  or n.tenant_id not in (select id from tenants where deleted_at is not null))`

/**
 * Counts the notifications that may need an operator.
 * @param most the limit of each count. Waiting notifications are counted in the order of their due times
 */
export async function countOpen(tx: TenantTx, most: number): Promise<OpenCount[]> {
  const { rows } = await sql<OpenCount>`
    select p.provider, s.state, f.count, null::timestamptz as since, false as "isRefused"
    from (values ('cardnet'), ('paygate')) p(provider), (values ('unverified'), ('failed')) s(state),
      lateral (select count(*) from (
        select from payment_notifications n
        where n.provider = p.provider and n.state = s.state and n.state in ('unverified', 'failed')
          and ${isLiving} limit ${most}) few) f
    union all
    select p.provider, 'received', w.count, w.since, w.is_refused
    from (values ('cardnet'), ('paygate')) p(provider),
      lateral (select count(*),
          min(waiting_since) filter (where reason is distinct from 'refund_not_counted') as since,
          coalesce(bool_or(reason = 'provider_refused'), false) as is_refused
        from (
          select n.waiting_since, n.reason from payment_notifications n
          where n.provider = p.provider and n.state = 'received' and ${isLiving}
          order by greatest(n.due_at, n.leased_until) limit ${most}) few) w`.execute(tx.db)
  return rows
}

/** Returns the result of a provider's last reconciliation run, or undefined if no run was ever scheduled. */
export async function lastRun(
  tx: TenantTx,
  provider: Provider,
): Promise<{ failures: number; is_refused: boolean } | undefined> {
  return tx.db
    .selectFrom('payment_reconciliations')
    .select(['failures', 'is_refused'])
    .where('provider', '=', provider)
    .executeTakeFirst()
}

/**
 * Deletes up to `limit` notifications that arrived before the given times. Does not delete notifications that are
 * waiting or were settled recently. Returns how many were deleted.
 */
export async function deleteOld(
  tx: TenantTx,
  before: { verified: string; unverified: string; ended: string },
  limit: number,
): Promise<number> {
  const result = await sql`
    delete from payment_notifications where id in (
      select id from payment_notifications
      where received_at < ${before.verified}::timestamptz and state <> 'received'
          and (processed_at is null or processed_at < ${before.ended}::timestamptz)
        or state = 'unverified' and received_at < ${before.unverified}::timestamptz
      limit ${limit} for update skip locked)`.execute(tx.db)
  return Number(result.numAffectedRows ?? 0n)
}

/**
 * Marks up to `limit` waiting paygate notifications that arrived before `before` as failed, except those being
 * processed. Notifications of cardnet are signed and stay pending. Returns how many were marked.
 * @param isAsked whether paygate's API is configured and can be queried
 */
export async function giveUpOld(
  tx: TenantTx,
  { before, now, isAsked }: { before: string; now: string; isAsked: boolean },
  limit: number,
): Promise<number> {
  const result = await sql`
    update payment_notifications
    set state = 'failed', due_at = null, leased_until = null, waiting_since = null,
      processed_at = ${now}::timestamptz,
      reason = case when ${isAsked}::boolean then coalesce(reason, 'provider_away')
        else 'not_configured' end
    where id in (
      select id from payment_notifications
      where received_at < ${before}::timestamptz and state = 'received' and provider = 'paygate'
        and (leased_until is null or leased_until <= ${now}::timestamptz)
      limit ${limit} for update skip locked)`.execute(tx.db)
  return Number(result.numAffectedRows ?? 0n)
}

/**
 * Makes notifications due now if their due time or lease ends after `beyond`. A wrong clock has caused such times.
 * Changes up to `limit` notifications, and returns how many.
 */
export async function freeBeyond(
  tx: TenantTx,
  { beyond, now }: { beyond: string; now: string },
  limit: number,
): Promise<number> {
  const result = await sql`
    update payment_notifications
    set due_at = least(due_at, ${now}::timestamptz), leased_until = null,
      waiting_since = least(waiting_since, ${now}::timestamptz)
    where id in (
      select id from payment_notifications
      where provider in ('cardnet', 'paygate') and state = 'received'
        and ${freeAt} > ${beyond}::timestamptz
      limit ${limit} for update skip locked)`.execute(tx.db)
  return Number(result.numAffectedRows ?? 0n)
}

const purgeNotifications = purgerOf('payment_notifications')
const purgePayments = purgerOf('payments')

/** Purges one batch of a deleted tenant's rows: notifications first, because they reference payments. */
export const purgeSome: PurgeRows = async (tx, tenantId, limit) =>
  (await purgeNotifications(tx, tenantId, limit)) || purgePayments(tx, tenantId, limit)
