/** SQL that creates partitions ahead of time, deletes outdated rows in batches, and reschedules deliveries. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import { isServed } from '../engine/claims.store.ts'
import '../webhooks.table.ts'

/** Creates missing partitions from `from` (or today) until `ahead` days from now. Returns how many were created. */
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

/** Returns the days before `day` (`2026-11-21`) that have partitions, oldest first. */
export async function daysBefore(tx: TenantTx, day: string): Promise<string[]> {
  const { rows } = await sql<{ day: string }>`
    select day::text as day from webhook_partition_days() as day
    where day < ${day}::date`.execute(tx.db)
  return rows.map((row) => row.day)
}

/** Returns whether the day has pending deliveries of an active webhook of a served tenant. */
export async function isWaitedFor(tx: TenantTx, day: string): Promise<boolean> {
  // Searches by active webhook. Inactive webhooks may have millions of pending deliveries.
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
 * Locks the deliveries table until the transaction ends. Fails if the lock is not available within two seconds.
 * Dropping a partition needs this lock in any case. Because the lock is taken before the check, the partition cannot
 * change until it is dropped.
 */
export async function lockDeliveries(tx: TenantTx): Promise<void> {
  await sql`set local lock_timeout = '2s'`.execute(tx.db)
  await sql`set local statement_timeout = '4s'`.execute(tx.db)
  await sql`lock table only webhook_deliveries in access exclusive mode`.execute(tx.db)
}

export async function dropDay(tx: TenantTx, day: string): Promise<void> {
  await sql`select drop_webhook_partition(${day}::date)`.execute(tx.db)
}

/** Deletes up to `limit` secrets that expired before `now`. Returns how many were deleted. */
export async function deleteSecretsExpiredBefore(
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

/** The tolerated difference between the clocks of nodes. Within this difference, a delivery is retried. */
const CLOCKS_DIFFER = '1 minute'

/**
 * Makes up to `limit` pending deliveries of a webhook due now. Returns how many. Skips deliveries that were attempted
 * after the request at `since`. Also skips deliveries that are already due, because an attempt may be running.
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

/** Deletes about `limit` attempts and deliveries each, lowest event ids first. Returns whether there may be more. */
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

/** Returns the id of a webhook of the tenant that still has rows, or undefined if no rows are left. */
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
 * Returns the id of a webhook of the tenant that has rows in the table, or undefined. No index contains the tenant, but
 * all rows of a webhook belong to the same tenant. The query therefore reads only the first row of each webhook in the
 * index, and then continues with the next webhook.
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

/** Deletes a webhook of a deleted tenant. No other operation can see the webhook at this point. */
export async function deleteOfDeleted(tx: TenantTx, tenantId: number, id: number): Promise<void> {
  await tx.db
    .deleteFrom('webhooks')
    .where('id', '=', id)
    .where('tenant_id', '=', tenantId)
    .execute()
}

/** Makes unleased queues due whose deliveries have been due since `late` or longer. Returns their webhooks' ids. */
export async function rescheduleQueues(
  tx: TenantTx,
  { now, late }: { now: string; late: string },
): Promise<number[]> {
  const { rows } = await sql<{ webhook_id: number }>`
    update webhook_queues q set due_at = ${now}::timestamptz
    from webhooks w join tenants t on t.id = w.tenant_id and ${isServed}
    where w.id = q.webhook_id and w.is_active
      and (q.due_at is null or q.due_at > ${now}::timestamptz)
      and (q.leased_until is null or q.leased_until < now())
      and exists (
        select from webhook_deliveries d
        where d.webhook_id = q.webhook_id and d.status = 'pending' and d.due_at <= ${late}::timestamptz
        offset 0)
    returning q.webhook_id`.execute(tx.db)
  return rows.map((row) => row.webhook_id)
}
