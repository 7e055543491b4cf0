/** The SQL that makes room for deliveries ahead, and deletes what is over, in small batches. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import { isServed } from '../engine/served.ts'
import '../webhooks.table.ts'

/** Makes the partitions of the days from `from` (at the latest today) to so many days ahead, where missing. */
export async function ensureDays(
  tx: TenantTx,
  from: string | null,
  ahead: number,
): Promise<number> {
  const { rows } = await sql<{ made: number }>`
    select ensure_webhook_partitions(
      least((${from}::timestamptz at time zone 'UTC')::date, (now() at time zone 'UTC')::date),
      (now() at time zone 'UTC')::date + ${ahead}::integer) as made`.execute(tx.db)
  return rows[0]?.made ?? 0
}

/** The days before `day` (`2026-11-21`) that have partitions, the oldest first. */
export async function daysBefore(tx: TenantTx, day: string): Promise<string[]> {
  const { rows } = await sql<{ day: string }>`
    select day::text as day from webhook_partition_days() as day
    where day < ${day}::date`.execute(tx.db)
  return rows.map((row) => row.day)
}

/** Whether an active webhook of a tenant that is served still waits for a delivery of the day. */
export async function isWaitedFor(tx: TenantTx, day: string): Promise<boolean> {
  // By the webhook: those that are inactive may have millions waiting.
  const { rows } = await sql`
    select from webhooks w join tenants t on t.id = w.tenant_id and ${isServed}
    where w.is_active and exists (
      select from webhook_deliveries d
      where d.webhook_id = w.id and d.status = 'pending'
        and d.event_at >= ${`${day}T00:00:00Z`}::timestamptz
        and d.event_at < ${`${day}T00:00:00Z`}::timestamptz + interval '1 day'
      offset 0)
    limit 1`.execute(tx.db)
  return rows.length > 0
}

/**
 * Keeps all others from the deliveries until the transaction ends; gives up where they are busy for
 * long. Dropping a partition takes this lock anyway: here it comes before the look at what is in it.
 */
export async function lockDeliveries(tx: TenantTx): Promise<void> {
  await sql`set local lock_timeout = '2s'`.execute(tx.db)
  await sql`set local statement_timeout = '4s'`.execute(tx.db)
  await sql`lock table only webhook_deliveries in access exclusive mode`.execute(tx.db)
}

/** Drops all deliveries and attempts of a day. */
export async function dropDay(tx: TenantTx, day: string): Promise<void> {
  await sql`select drop_webhook_partition(${day}::date)`.execute(tx.db)
}

/** Deletes secrets that no longer sign, up to `limit` of them. Returns how many. */
export async function deleteExpiredSecrets(
  tx: TenantTx,
  now: string,
  limit: number,
): Promise<number> {
  const result = await tx.db
    .deleteFrom('webhook_secrets')
    .where('id', 'in', (eb) =>
      eb.selectFrom('webhook_secrets').select('id').where('expires_at', '<=', now).limit(limit),
    )
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}

/** Nodes have clocks of their own: rather one try too many than none. */
const CLOCKS_DIFFER = '1 minute'

/**
 * Makes deliveries due that wait for a later try, up to `limit` of them. Returns how many. Those are left alone
 * that were tried since it was asked for, at `since`, and those that are due, of which a try may be under way.
 */
export async function retryDeliveriesNow(
  tx: TenantTx,
  webhookId: number,
  { since, now }: { since: string; now: string },
  limit: number,
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update webhook_deliveries d set due_at = ${now}::timestamptz, retry_step = 0
    from (
      select webhook_id, entry_id, event_at from webhook_deliveries w
      where webhook_id = ${webhookId} and status = 'pending' and due_at > ${now}::timestamptz
        and not exists (select from webhook_attempts a where a.webhook_id = w.webhook_id
          and a.entry_id = w.entry_id and a.event_at = w.event_at
          and a.started_at >= ${since}::timestamptz + ${CLOCKS_DIFFER}::interval offset 0)
      order by due_at limit ${limit}
    ) waiting
    where d.webhook_id = waiting.webhook_id and d.entry_id = waiting.entry_id
      and d.event_at = waiting.event_at and d.due_at > ${now}::timestamptz`.execute(tx.db)
  return Number(numAffectedRows)
}

/**
 * Deletes attempts and deliveries of a webhook, about `limit` of each: those of the lowest events.
 * Returns whether there may be more.
 */
export async function deleteDeliveries(
  tx: TenantTx,
  webhookId: number,
  limit: number,
): Promise<boolean> {
  let deleted = 0n
  for (const table of ['webhook_attempts', 'webhook_deliveries'] as const) {
    const { numAffectedRows = 0n } = await sql`
      delete from ${sql.table(table)} where webhook_id = ${webhookId} and entry_id <= (
        select max(entry_id) from (
          select entry_id from ${sql.table(table)} where webhook_id = ${webhookId}
          order by entry_id limit ${limit}) lowest)`.execute(tx.db)
    deleted += numAffectedRows
  }
  return deleted > 0n
}

/** A webhook of the tenant of which there is anything, be it only deliveries that were left over. */
export async function findAnyWebhook(tx: TenantTx, tenantId: number): Promise<number | undefined> {
  const registered = await tx.db
    .selectFrom('webhooks')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .limit(1)
    .executeTakeFirst()
  return (
    registered?.id ??
    (await findLeftOver(tx, 'webhook_deliveries', tenantId)) ??
    (await findLeftOver(tx, 'webhook_attempts', tenantId))
  )
}

/**
 * A webhook of the tenant that the table has rows of. No index has their tenant, and all rows of a webhook
 * are of one: it looks at the first row of each webhook, and leaps along the index to the next.
 */
async function findLeftOver(
  tx: TenantTx,
  table: 'webhook_deliveries' | 'webhook_attempts',
  tenantId: number,
): Promise<number | undefined> {
  const { rows } = await sql<{ id: number }>`
    with recursive firsts as (
      (select webhook_id, tenant_id from ${sql.table(table)} order by webhook_id limit 1)
      union all
      select next.webhook_id, next.tenant_id from firsts cross join lateral (
        select webhook_id, tenant_id from ${sql.table(table)}
        where webhook_id > firsts.webhook_id order by webhook_id limit 1) next
    )
    select webhook_id as id from firsts where tenant_id = ${tenantId} limit 1`.execute(tx.db)
  return rows[0]?.id
}

/** Deletes a webhook of a deleted tenant, which to all others is gone already. */
export async function deleteOfDeleted(tx: TenantTx, tenantId: number, id: number): Promise<void> {
  await tx.db
    .deleteFrom('webhooks')
    .where('id', '=', id)
    .where('tenant_id', '=', tenantId)
    .execute()
}
