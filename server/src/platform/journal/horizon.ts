/**
 * How far the journal can be read while transactions run that cannot write into it: those of other
 * databases on the same server, which take their numbers from the same row.
 */
import { sql } from 'kysely'
import type { Scopes, TenantTx } from '../db/index.ts'

export interface Horizon {
  /** No transaction of this database that has a lower number runs any more, now or later. */
  xid: string
  /** Whether that is further than the oldest transaction of the whole server. */
  isFurther: boolean
}

/**
 * Finds the oldest running transaction that may be one of this database. The order of the steps is
 * what makes it safe: a transaction in the snapshot that still holds its number's lock afterwards
 * was running all the time between, and so was the process that is asked for its database there.
 * Whatever is not proven to be elsewhere counts as one of ours.
 */
export async function horizonOf(tx: TenantTx): Promise<Horizon> {
  const [{ snapshot } = { snapshot: '' }] = (
    await sql<{ snapshot: string }>`select pg_current_snapshot()::text as snapshot`.execute(tx.db)
  ).rows
  const elsewhere = await sql<{ pid: number }>`
      select a.pid from pg_stat_activity a
      where a.datid <> (select oid from pg_database where datname = current_database())`.execute(
    tx.db,
  )
  const pids = elsewhere.rows.map(({ pid }) => pid)
  const { rows } = await sql<Horizon>`
      select xid::text, xid > pg_snapshot_xmin(${snapshot}::pg_snapshot) as "isFurther"
      from (
        select xid from pg_snapshot_xip(${snapshot}::pg_snapshot) as running(xid)
        where not exists (
            select from pg_locks
            where locktype = 'transactionid' and mode = 'ExclusiveLock' and granted
              and transactionid = running.xid::xid and pid = any(${pids}::integer[]))
          and not exists (
            select from pg_prepared_xacts
            where transaction = running.xid::xid and database <> current_database())
        union all select pg_snapshot_xmax(${snapshot}::pg_snapshot)
      ) as ours
      order by ours.xid limit 1`.execute(tx.db)
  if (!rows[0]) throw new Error('a snapshot has an end')
  return rows[0]
}

/** As `horizonOf`, in a transaction of its own. */
export const findHorizon = (db: Scopes): Promise<Horizon> => db.acrossTenants(horizonOf, 'read')
