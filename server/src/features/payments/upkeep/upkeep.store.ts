/** The SQL of looking after the inbox. */
import { sql } from 'kysely'
import { type PurgeRows, purgerOf, type TenantTx } from '../../../platform/db/index.ts'
import { freeAt } from '../inbox/claims.store.ts'
import type { Provider } from '../payment-facts.ts'
import '../payments.table.ts'

/** What somebody may have to look at: what waits, and what will not get on by itself. */
export const OPEN_STATES = ['received', 'unverified', 'failed'] as const

export interface OpenCount {
  provider: Provider
  state: (typeof OPEN_STATES)[number]
  /** Up to `most`. */
  count: number
  /**
   * Since when the longest waiting of them is received. Null of other states, and where all only make
   * sure that a refund is counted.
   */
  since: string | null
  /** Whether one of them waits for the provider to take the credentials. */
  isRefused: boolean
}

/** What of a deleted tenant is in the inbox is nobody's to look at. */
const isLiving = sql`(n.tenant_id is null
  or n.tenant_id not in (select id from tenants where deleted_at is not null))`

/**
 * How many notifications somebody may have to look at.
 * @param most of each provider and state are counted; of those that wait, the ones that are due first
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

/** How the last runs through a provider's list went; undefined before the first. */
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
 * Deletes up to `limit` that came before, but none that still waits, nor one that has just come to its end. Answers
 * how many.
 */
export async function deleteOld(
  tx: TenantTx,
  before: { proven: string; unverified: string; ended: string },
  limit: number,
): Promise<number> {
  const result = await sql`
    delete from payment_notifications where id in (
      select id from payment_notifications
      where received_at < ${before.proven}::timestamptz and state <> 'received'
          and (processed_at is null or processed_at < ${before.ended}::timestamptz)
        or state = 'unverified' and received_at < ${before.unverified}::timestamptz
      limit ${limit} for update skip locked)`.execute(tx.db)
  return Number(result.numAffectedRows ?? 0n)
}

/**
 * Gives up asking about up to `limit` that came before, but for those that are being asked about; what
 * is signed waits on. Answers how many.
 * @param isAsked whether paygate can be asked at all
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

/** Frees up to `limit` that would be free only beyond what a right clock writes. Answers how many. */
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

/** Destroys some of what a deleted tenant's payments leave: the notifications point to the payments. */
export const purgeSome: PurgeRows = async (tx, tenantId, limit) =>
  (await purgeNotifications(tx, tenantId, limit)) || purgePayments(tx, tenantId, limit)
