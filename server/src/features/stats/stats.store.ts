/** SQL that adds to the counts of quarters of an hour, and reads their sums. */
import { type RawBuilder, sql } from 'kysely'
import type { TenantTx } from '../../platform/db/index.ts'
import { BOUNDS } from './durations.ts'
import type { StatsSeries } from './series.ts'
import './stats.table.ts'

/** The number of events of one series in one slot. */
export interface StatsCount {
  tenant_id: number | null
  series: string
  slot: string
  count: number
}

const ADD = sql`on conflict (tenant_id, series, slot, step)
  do update set count = stats.count + excluded.count`

/**
 * Adds to the counts. Skips tenants that were purged. Rows are written in one order, so that writers never deadlock.
 * @param counts at most one for each tenant, series and slot @param waitMs how long to wait for the response
 */
export function addCounts(
  tx: TenantTx,
  counts: readonly StatsCount[],
  waitMs?: number,
): { rows: Promise<unknown> } {
  const statement = sql`insert into stats (tenant_id, series, slot, count)
    select c.tenant_id, c.series, c.slot, c.count from ${rowsOf(counts)}
    where c.tenant_id is null or exists (select from tenants t where t.id = c.tenant_id)
    order by 1, 2, 3 ${ADD}`.compile(tx.db)
  return tx.sendFor(waitMs === undefined ? statement : { ...statement, waitMs })
}

const rowsOf = (counts: readonly StatsCount[]) =>
  sql`unnest(${counts.map((c) => c.tenant_id)}::bigint[], ${counts.map((c) => c.series)}::text[],
    ${counts.map((c) => c.slot)}::timestamptz[], ${counts.map((c) => c.count)}::bigint[])
    as c(tenant_id, series, slot, count)`

/**
 * Returns the statement that counts the ends of delivery attempts. @param results a query or table with `tenant_id`,
 * `result` (`delivered`, `failed`, `retried`, or null for one that does not count) and `duration_ms` @param now the time
 */
export function deliveryCounts(results: RawBuilder<unknown>, now: string): RawBuilder<unknown> {
  return sql`insert into stats (tenant_id, series, slot, step, count)
    select tenant_id, 'deliveries_' || result,
      date_bin('15 minutes', ${now}::timestamptz, timestamptz 'epoch'),
      coalesce(width_bucket(duration_ms, ${sql.lit(`{${BOUNDS.join()}}`)}::integer[]), -1), count(*)
    from ${results} where result is not null group by 1, 2, 3, 4 order by 1, 2, 3, 4 ${ADD}`
}

export interface StatsSum {
  series: StatsSeries
  step: number
  bucket: number
  count: number
}

/** Returns the sums of the buckets between the bounds (ISO 8601), without those that are zero. */
export async function sumCounts(
  tx: TenantTx,
  series: readonly StatsSeries[],
  bounds: readonly string[],
): Promise<StatsSum[]> {
  const tenant = tx.tenantId === null ? sql`true` : sql`tenant_id = ${tx.tenantId}`
  // A range of the index for each bucket takes half the time of finding the bucket of each row.
  const { rows } = await sql<StatsSum>`
    select wanted.series, found.step, (bucket.number - 1)::integer as bucket, found.count
    from unnest(${series}::text[]) as wanted (series)
    cross join unnest(${bounds.slice(0, -1)}::timestamptz[], ${bounds.slice(1)}::timestamptz[])
      with ordinality as bucket (since, until, number)
    cross join lateral (
      select step, sum(count::float8) as count from stats
      where ${tenant} and stats.series = wanted.series
        and slot >= bucket.since and slot < bucket.until
      group by step) as found`.execute(tx.db)
  return rows
}

export async function purgeCounts(tx: TenantTx, tenantId: number, limit: number): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    delete from stats where ctid = any(array(
      select ctid from stats where tenant_id = ${tenantId} limit ${limit}))`.execute(tx.db)
  return numAffectedRows > 0n
}
