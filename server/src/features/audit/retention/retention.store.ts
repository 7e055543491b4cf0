/** SQL for the retention of the audit logs: which entries are past it, and their removal. */
import { sql } from 'kysely'
import { SHORTEST_RETENTION_DAYS } from '../../../config/audit-variables.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { resourceHash } from '../../../platform/journal/index.ts'
import { PRUNED } from '../transparency/leaf.ts'
import { LOG_COLUMNS, type LogRow, PLATFORM_LOG } from '../transparency/logs.store.ts'
import { tenantIs } from '../transparency/read-log.store.ts'

/** A log whose oldest entry is past its retention. */
export interface DueLog extends Pick<LogRow, 'tenant_id' | 'epoch' | 'size' | 'pruned_size'> {
  retention_days: number
}

/**
 * Returns the first log of a tenant from `tenantId` on whose oldest entry is past its retention. An epoch is due after
 * the earlier ones have no entries left. The log of the platform, and the logs of purged tenants, have the retention of
 * the platform.
 */
export async function findDueLog(
  tx: TenantTx,
  tenantId: number,
  minDays: number,
): Promise<DueLog | undefined> {
  const { rows } = await sql<DueLog>`
    with platform as (select settings from tenants where is_platform),
    oldest as (
      select distinct on (tenant_id) tenant_id, epoch, size, pruned_size from audit_logs
      where tenant_id >= ${tenantId} and pruned_size < size order by tenant_id, epoch),
    wanted as (
      select oldest.tenant_id, oldest.epoch, oldest.size, oldest.pruned_size, coalesce(own.settings, platform.settings) -> 'audit_retention_days' as days
      from oldest cross join platform left join tenants own on own.id = oldest.tenant_id),
    kept as (
      select tenant_id, epoch, size, pruned_size,
        case when jsonb_typeof(days) = 'number' then days::text::float8 end as days
      from wanted)
    select kept.tenant_id, kept.epoch, kept.size, kept.pruned_size, days as retention_days
    from kept join audit_leaves leaf on leaf.tenant_id = kept.tenant_id and leaf.epoch = kept.epoch
      and leaf.index = kept.pruned_size
    where days >= ${minDays} and days <= ${MAX_DAYS}
      and leaf.created_at < now() - make_interval(days => days::integer)
    order by kept.tenant_id limit 1`.execute(tx.db)
  return rows[0]
}

/** The longest retention, in days. */
const MAX_DAYS = 36_500

/** The entries that can be removed next. */
export interface DueRange {
  /** The index after the last leaf. */
  end: number
  /** Whether the entry of the leaf at `end` is missing in the journal. */
  isMissing: boolean
}

/**
 * Finds the leaves at the beginning of a log whose entries are past the retention and were read by all consumers of the
 * journal. @param readers the names of the consumers
 */
export async function findDueRange(
  tx: TenantTx,
  { tenant_id, epoch, pruned_size, retention_days }: DueLog,
  readers: readonly string[],
  limit: number,
): Promise<DueRange> {
  const { rows } = await sql<DueRange>`
    with reader as (
      select xid, id from journal_consumers where consumer = any(${readers}::text[])
        and (select count(*) from journal_consumers where consumer = any(${readers}::text[])) = ${readers.length}
      order by xid, id limit 1),
    leaves as materialized (
      select index, entry_id, created_at from audit_leaves
      where tenant_id = ${tenant_id} and epoch = ${epoch}
        and index >= ${pruned_size} and index < ${pruned_size + limit}),
    page as materialized (
      select leaf.index, entry.id is null as is_missing,
        leaf.created_at < now() - make_interval(days => ${retention_days})
          and (entry.xid, entry.id) <= (select xid, id from reader) as is_due
      -- The bounds limit the search to the months of these leaves.
      from leaves leaf left join journal entry on entry.id = leaf.entry_id
        and entry.created_at = leaf.created_at
        and entry.created_at >= (select min(created_at) from leaves)
        and entry.created_at <= (select max(created_at) from leaves)),
    stop as (select index, is_missing from page where is_due is not true order by index limit 1)
    select coalesce((select index from stop), (select max(index) + 1 from page), ${pruned_size}) as end,
      coalesce((select is_missing from stop), false) as "isMissing"`.execute(tx.db)
  return rows[0] ?? { end: pruned_size, isMissing: false }
}

/**
 * Removes the entries of a log from its first remaining one up to `end`.
 * @throws DatabaseError if another process removed some, if an entry is missing, or if one is younger than 90 days
 */
export async function pruneEntries(
  tx: TenantTx,
  { tenant_id, epoch, pruned_size }: DueLog,
  end: number,
): Promise<void> {
  await sql`select prune_entries(${tenant_id}, ${epoch}, ${pruned_size}, ${end})`.execute(tx.db)
}

/** Lists the epochs of a tenant's log from which entries were removed, oldest first. */
export const listPruned = (tx: TenantTx, tenantId: number): Promise<LogRow[]> =>
  tx.db
    .selectFrom('audit_logs')
    .select(LOG_COLUMNS)
    .where('tenant_id', '=', tenantId)
    .where('pruned_size', '>', 0)
    .orderBy('epoch')
    .execute()

/** Records why the entries of a log could not be removed. @param failure a sentence for people */
export async function noteFailure(
  tx: TenantTx,
  { tenant_id, epoch }: Pick<DueLog, 'tenant_id' | 'epoch'>,
  failure: string,
): Promise<void> {
  await tx.db
    .updateTable('audit_logs')
    .set({
      prune_failure: failure,
      prune_failing_since: sql`coalesce(prune_failing_since, now())`,
    })
    .where('tenant_id', '=', tenant_id)
    .where('epoch', '=', epoch)
    .execute()
}

/** Forgets the failures of logs whose entries could be removed, or have to be kept now. @param failed the other logs */
export async function forgetFailures(
  tx: TenantTx,
  failed: readonly Pick<DueLog, 'tenant_id' | 'epoch'>[],
): Promise<void> {
  const [tenants, epochs] = [
    failed.map(({ tenant_id }) => tenant_id),
    failed.map(({ epoch }) => epoch),
  ]
  await sql`update audit_logs set prune_failure = null, prune_failing_since = null
    where prune_failure is not null and (tenant_id, epoch) not in (
      select * from unnest(${tenants}::bigint[], ${epochs}::int[]))`.execute(tx.db)
}

/** Lets the next anchors name all logs again, because the earlier ones were removed. */
export async function forgetAnchors(tx: TenantTx): Promise<void> {
  await tx.db
    .updateTable('audit_logs')
    .set({ anchored_size: 0 })
    .where('tenant_id', '<>', PLATFORM_LOG)
    .where('ended_at', 'is', null)
    .execute()
}

/** Finds the leaf of the last order to remove entries of a tenant. */
export async function findLastOrder(
  tx: TenantTx,
  tenantId: number,
): Promise<{ epoch: number; index: number } | undefined> {
  const { rows } = await sql<{ epoch: number; index: number }>`
    select leaf.epoch, leaf.index from journal join audit_leaves leaf
      on leaf.entry_id = journal.id and leaf.created_at = journal.created_at
    where journal.action = ${PRUNED} and journal.resource_type = 'audit_log'
      and journal.resource_hash = ${resourceHash(sql`${String(tenantId)}`)}
      and ${tenantIs(tenantId)} and leaf.tenant_id = ${tenantId} and leaf.mark = 'ok'
    order by leaf.epoch desc, leaf.index desc limit 1`.execute(tx.db)
  return rows[0]
}

/** Returns whether the verification has found that a log of a tenant was altered. */
export async function hasFindings(tx: TenantTx, tenantId: number): Promise<boolean> {
  const found = await tx.db
    .selectFrom('audit_findings')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('gone_at', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

/** The logs whose entries could not be removed: their number, the oldest failure, and when it began. */
export interface PruneFailures {
  count: number
  failure: string
  since: string
}

export async function findFailures(tx: TenantTx): Promise<PruneFailures | undefined> {
  const { rows } = await sql<PruneFailures>`
    select prune_failure as failure, prune_failing_since as since, count(*) over ()::integer as count
    from audit_logs where prune_failure is not null
    order by prune_failing_since limit 1`.execute(tx.db)
  return rows[0]
}

/** Lists the months that ended before the shortest retention and have partitions (`2026-05-01`), oldest first. */
export async function listOldMonths(tx: TenantTx): Promise<string[]> {
  const { rows } = await sql<{ month: string }>`
    select month::text as month from journal_months() as month
    where month + interval '1 month' < now() - make_interval(days => ${SHORTEST_RETENTION_DAYS})`.execute(
    tx.db,
  )
  return rows.map(({ month }) => month)
}

/** Returns whether the journal has entries of a month. */
export async function hasEntries(tx: TenantTx, month: string): Promise<boolean> {
  const { rows } = await sql`
    select from journal where created_at >= ${`${month}T00:00:00Z`}::timestamptz
      and created_at < ${`${month}T00:00:00Z`}::timestamptz + interval '1 month' limit 1`.execute(
    tx.db,
  )
  return rows.length > 0
}

/** Drops the partitions of a month if it has no entries. Returns whether it did. Locks the journal for seconds at most. */
export async function dropEmptyMonth(tx: TenantTx, month: string): Promise<boolean> {
  await sql`set local statement_timeout = '4s'`.execute(tx.db)
  const { rows } = await sql<{ is_dropped: boolean }>`
    select drop_empty_journal_month(${month}::date) as is_dropped`.execute(tx.db)
  return rows[0]?.is_dropped === true
}

/** Returns the tenant of the entries of a log, or null for the log of the platform. */
export const tenantOf = (tenantId: number): number | null =>
  tenantId === PLATFORM_LOG ? null : tenantId
