/** The SQL of looking after the inbox. */
import { sql } from 'kysely'
import { type PurgeRows, purgerOf, type TenantTx } from '../../../platform/db/index.ts'
import type { Provider } from '../payment-facts.ts'
import '../payments.table.ts'

/** What somebody may have to look at: what waits, and what will not get on by itself. */
export const OPEN_STATES = ['received', 'unverified', 'failed'] as const

export interface OpenCount {
  provider: Provider
  state: (typeof OPEN_STATES)[number]
  count: number
  /**
   * Since when the longest waiting of them is there, or was last tried by hand. Null where all only make
   * sure that a refund is counted.
   */
  since: string | null
}

/** How many notifications somebody may have to look at. */
export async function countOpen(tx: TenantTx): Promise<OpenCount[]> {
  const { rows } = await sql<OpenCount>`
    select provider, state, count(*) as count, min(armed_at) as since from payment_notifications
    where state in ('unverified', 'failed') group by provider, state
    union all
    select provider, state, count(*),
      min(armed_at) filter (where reason is distinct from 'refund_not_counted')
    from payment_notifications
    where state = 'received' group by provider, state`.execute(tx.db)
  return rows
}

/** Deletes up to `limit` that came before, but none that still waits. Answers how many. */
export async function deleteOld(
  tx: TenantTx,
  before: { proven: string; unverified: string },
  limit: number,
): Promise<number> {
  const result = await sql`
    delete from payment_notifications where id in (
      select id from payment_notifications
      where received_at < ${before.proven}::timestamptz and state <> 'received'
        or state = 'unverified' and received_at < ${before.unverified}::timestamptz
      limit ${limit} for update skip locked)`.execute(tx.db)
  return Number(result.numAffectedRows ?? 0n)
}

const purgeNotifications = purgerOf('payment_notifications')
const purgePayments = purgerOf('payments')

/** Destroys some of what a deleted tenant's payments leave: the notifications point to the payments. */
export const purgeSome: PurgeRows = async (tx, tenantId, limit) =>
  (await purgeNotifications(tx, tenantId, limit)) || purgePayments(tx, tenantId, limit)
