import { type RawBuilder, sql } from 'kysely'
import { LOCKS, type TenantTx } from '../db/index.ts'

export interface ConsumerPosition {
  consumer: string
  /** The id of the last entry that the consumer has read, or null if it has read none. */
  entry_id: number | null
  moved_at: string | null
  failing_since: string | null
  /** The time of the next unread entry, or null if the consumer has read all entries. */
  waiting_since: string | null
  /** True if no older entry can still be committed before the next unread entry. */
  is_settled: boolean | null
}

/** A consumer, and whether it also reads entries that record an access (ADR 0021). */
export interface KnownConsumer {
  name: string
  includesAccesses: boolean
}

/** Returns each consumer's position and next unread entry. @param horizon a transaction id; lower ones have ended */
export async function findPositions(
  tx: TenantTx,
  consumers: readonly KnownConsumer[],
  horizon: string,
): Promise<ConsumerPosition[]> {
  const { rows } = await sql<ConsumerPosition>`
    select wanted.consumer, c.id as entry_id, c.updated_at as moved_at, c.failing_since,
      next.created_at as waiting_since, next.is_settled
    from unnest(${consumers.map(({ name }) => name)}::text[],
        ${consumers.map(({ includesAccesses }) => includesAccesses)}::boolean[])
        as wanted(consumer, includes_accesses)
      left join journal_consumers c using (consumer)
      left join lateral (
        select created_at, xid < ${horizon}::xid8 as is_settled
        from (${nextOf(sql`not is_access`)} union all ${nextOf(sql`wanted.includes_accesses and is_access`)}) kinds
        order by xid, id limit 1) next on true`.execute(tx.db)
  return rows
}

/** Selects the next unread entry of one kind. Each kind has an index of its own by position. */
const nextOf = (isOfKind: RawBuilder<unknown>) => sql`(
  select xid, id, created_at from journal
  where ${isOfKind} and (xid, id) > (coalesce(c.xid, '0'), coalesce(c.id, 0))
  order by xid, id limit 1)`

/** A database connection whose transaction has written or may have written. */
export interface Writer {
  pid: number
  /** Start times of connection and transaction, in microseconds. They identify the transaction. */
  connected: string
  begun: string | null
  /** The start of the transaction (ISO 8601), or null if the owner of the tables may not see it. */
  begun_at: string | null
  application: string
}

/** The SQL condition for the service's own long jobs, restores and migrations. They may take as long as they need. */
const isRightful = sql<boolean>`exists (
  select from pg_locks l
  where l.pid = w.pid and l.locktype = 'advisory' and l.granted
    and l.database = (select oid from pg_database where datname = current_database())
    and (l.objsubid = 2 and l.classid in (${LOCKS.longJobs}, ${LOCKS.maintenance})
      or l.objsubid = 1 and l.objid in (${LOCKS.migrations}, ${LOCKS.setup}, ${LOCKS.keyRotation})))`

export async function listWriters(tx: TenantTx): Promise<Writer[]> {
  const { rows } = await sql<Writer>`
    select w.pid, w.connected_at::text as connected, w.begun_at::text as begun, w.begun_at,
      w.application
    from running_writers() w where not ${isRightful} order by w.begun_at`.execute(tx.db)
  return rows
}

/** Ends a connection. Returns whether it has ended, or undefined if its transaction had already ended. */
export async function endWriter(
  tx: TenantTx,
  { pid, connected, begun }: Pick<Writer, 'pid' | 'connected' | 'begun'>,
): Promise<boolean | undefined> {
  const { rows } = await sql<{ ended: boolean | null }>`
    select end_writer(w.pid, ${connected}::timestamptz, ${begun}::timestamptz) as ended
    from (values (${pid}::integer)) w(pid) where not ${isRightful}`.execute(tx.db)
  return rows[0]?.ended ?? undefined
}

/** Returns true if a prepared (two-phase) transaction that was prepared before this time is still pending. */
export async function isAnyPrepared(tx: TenantTx, before: string): Promise<boolean> {
  const { rows } = await sql`
    select from pg_prepared_xacts
    where database = current_database() and prepared < ${before}::timestamptz limit 1`.execute(
    tx.db,
  )
  return rows.length > 0
}
