/** The SQL query that counts journal entries per quarter of an hour for the overview. */
import { sql } from 'kysely'
import { HOURS } from '../../lib/hours.ts'
import type { TenantTx } from '../../platform/db/index.ts'
import { ACTIONS, type Action, groupOf } from '../../platform/journal/index.ts'
import '../../platform/journal/journal.table.ts'

const STEPS = 4 * HOURS
/** The maximum number of entries counted per quarter of an hour. Above that, the counts are extrapolated. */
const MAX_COUNTED = 250

const UNCHANGED_GROUPS: readonly string[] = ['auth', 'access', 'audit']
/** The actions that change data: all except sign-ins, refused requests and reads. */
const CHANGES = (Object.keys(ACTIONS) as Action[]).filter(
  (action) =>
    !UNCHANGED_GROUPS.includes(groupOf(action)) &&
    !/[.](read|listed|searched|exported|downloaded)$/.test(action),
)

/** Uses literals, because PostgreSQL evaluates a long list with a hash table only if it consists of constants. */
const IN_CHANGES = sql.join(CHANGES.map((action) => sql.lit(action)))

export interface Activity {
  sign_ins: number
  refused: number
  changes: number
  /** The factor by which the counts were extrapolated; 1 if all entries were counted. */
  factor: number
}

/**
 * Counts the entries of each quarter of an hour from `since` on, using the index by tenant and time. Under row-level
 * security, an index condition cannot contain the calculation of a quarter's bounds. `offset 0` makes PostgreSQL
 * compute the bounds first.
 */
export async function countActivity(tx: TenantTx, since: string): Promise<Activity[]> {
  const tenant = tx.tenantId === null ? sql`true` : sql`tenant_id = ${tx.tenantId}`
  const { rows } = await sql<Activity>`
    select c.sign_ins * f.factor as sign_ins, c.refused * f.factor as refused,
      c.changes * f.factor as changes, f.factor
    from (
      select n, ${since}::timestamptz + n * interval '15 minutes' as begins,
        ${since}::timestamptz + (n + 1) * interval '15 minutes' as ends
      from generate_series(0, ${sql.lit(STEPS - 1)}) n offset 0) step
    cross join lateral (
      select count(*) as counted, max(created_at) as last,
        count(*) filter (where action = 'auth.login') as sign_ins,
        count(*) filter (where action = 'auth.login_failed') as refused,
        count(*) filter (where action in (${IN_CHANGES})) as changes
      from (
        select action, created_at from journal
        where ${tenant} and created_at >= step.begins and created_at < step.ends
          and created_at >= ${since}::timestamptz
        order by created_at limit ${sql.lit(MAX_COUNTED)}) e) c
    cross join lateral (
      select case when c.counted < ${sql.lit(MAX_COUNTED)} then 1
        else 900 / greatest(extract(epoch from c.last - step.begins), 1) end::float8 as factor) f
    order by step.n`.execute(tx.db)
  return rows
}
