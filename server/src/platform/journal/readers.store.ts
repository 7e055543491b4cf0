/** The SQL of how the readers of the journal stand, and of the transactions that hold them back. */
import { sql } from 'kysely'
import { LOCKS, type TenantTx } from '../db/index.ts'

export interface Standing {
  consumer: string
  /** The last that it has read; null where it has read none. */
  entry_id: number | null
  moved_at: string | null
  failing_since: string | null
  /** The class of what it fails with. */
  error: string | null
  /** When the next entry was written; null where it has read all. */
  waiting_since: string | null
  /** Whether nothing can come before that entry any more. */
  is_settled: boolean | null
}

/** @param horizon the number below which no transaction runs */
export async function standings(
  tx: TenantTx,
  consumers: readonly string[],
  horizon: string,
): Promise<Standing[]> {
  const { rows } = await sql<Standing>`
    select wanted.consumer, c.id as entry_id, c.updated_at as moved_at, c.failing_since, c.error,
      next.created_at as waiting_since, next.is_settled
    from unnest(${consumers}::text[]) as wanted(consumer)
      left join journal_consumers c using (consumer)
      left join lateral (
        select created_at, xid < ${horizon}::xid8 as is_settled from journal
        where not is_access and (xid, id) > (coalesce(c.xid, '0'), coalesce(c.id, 0))
        order by xid, id limit 1) next on true`.execute(tx.db)
  return rows
}

/** A connection whose transaction has written, or may have. */
export interface Writer {
  pid: number
  /** When it connected and when the transaction began, to the microsecond: which one it is. */
  connected: string
  begun: string | null
  /** ISO 8601; null of one that the owner of the tables may not look at. */
  begun_at: string | null
  application: string
}

/** Long jobs, restores and migrations of the service take as long as they take. */
const isRightful = sql<boolean>`exists (
  select from pg_locks l
  where l.pid = w.pid and l.locktype = 'advisory' and l.granted
    and l.database = (select oid from pg_database where datname = current_database())
    and (l.objsubid = 2 and l.classid in (${LOCKS.longJobs}, ${LOCKS.closed})
      or l.objsubid = 1 and l.objid in (${LOCKS.migrations}, ${LOCKS.setup}, ${LOCKS.keyRotation})))`

export async function listWriters(tx: TenantTx): Promise<Writer[]> {
  const { rows } = await sql<Writer>`
    select w.pid, w.connected_at::text as connected, w.begun_at::text as begun, w.begun_at,
      w.application
    from running_writers() w where not ${isRightful} order by w.begun_at`.execute(tx.db)
  return rows
}

/** Returns whether it has ended; undefined where it is not in that transaction any more. */
export async function endWriter(
  tx: TenantTx,
  { pid, connected, begun }: Pick<Writer, 'pid' | 'connected' | 'begun'>,
): Promise<boolean | undefined> {
  const { rows } = await sql<{ ended: boolean | null }>`
    select end_writer(w.pid, ${connected}::timestamptz, ${begun}::timestamptz) as ended
    from (values (${pid}::integer)) w(pid) where not ${isRightful}`.execute(tx.db)
  return rows[0]?.ended ?? undefined
}

/** A transaction of two phases that waits for the second. */
export interface Prepared {
  number: number
  gid: string
  owner: string
  /** ISO 8601 */
  prepared_at: string
}

export async function listPrepared(tx: TenantTx): Promise<Prepared[]> {
  const { rows } = await sql<Prepared>`
    select transaction::text::bigint as number, gid, owner, prepared as prepared_at
    from pg_prepared_xacts where database = current_database() order by prepared`.execute(tx.db)
  return rows
}
