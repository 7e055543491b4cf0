/**
 * Finds how far the journal can be read while transactions of other databases run on the same server, which share the
 * sequence of transaction ids but cannot write here.
 */
import { sql } from 'kysely'
import type { Scopes, TenantTx } from '../db/index.ts'

export interface Horizon {
  /** A transaction id. All transactions of this database with a lower id have ended. */
  xid: string
  /** True if the horizon is beyond the oldest running transaction of the whole server. */
  isFurther: boolean
}

/**
 * Finds the oldest running transaction that may belong to this database. The order of the three queries makes this
 * safe. A transaction in the snapshot of the first query whose id is still locked in the third query has run the whole
 * time. So has its process, whose database the second query reads. Unless the queries prove otherwise, a transaction
 * counts as one of this database.
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
  if (!rows[0]) throw new Error('the snapshot is malformed')
  return rows[0]
}

export const findHorizon = (db: Scopes): Promise<Horizon> => db.acrossTenants(horizonOf, 'read')
