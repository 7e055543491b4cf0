/**
 * Reads the journal in order, as an outbox: each consumer at its own pace, restartable, seeing every
 * committed entry exactly once in the transaction that moves its position.
 *
 * The order is (transaction, id). A transaction takes its number when it writes first but may
 * commit much later, so only entries below the oldest running transaction are read: what is there
 * then can no longer be joined by anything older. Accesses are no part of it (decision 0021).
 */
import { sql } from 'kysely'
import type { Scopes, TenantTx } from '../db/index.ts'
import type { JournalConsumersTable, JournalTable } from './journal.table.ts'

/** An entry as consumers get it. */
export type JournalEntry = {
  [K in keyof JournalTable as Exclude<K, 'resource_hash' | 'is_access'>]: JournalTable[K] extends {
    readonly __select__: infer S
  }
    ? S
    : JournalTable[K]
}

type Column = keyof JournalEntry

export interface ConsumerOptions<C extends Column = Column> {
  /** The consumer's name, under which its position is kept. */
  name: string
  /** Entries taken in one transaction at the most; 500 by default. */
  batch?: number
  /** What the consumer needs of an entry beside its id; all by default. */
  columns?: readonly C[]
  /**
   * Does the consumer's work; on an error nothing moves and the batch comes again. Returns false where
   * nothing came of the entries: a follower then lets more of them gather.
   */
  handle(tx: TenantTx, entries: Pick<JournalEntry, C | 'id'>[]): Promise<unknown>
}

export const BATCH = 500
/** Named one by one: a column that a newer release adds is nothing that this one reads. */
const EVERY_COLUMN = Object.keys({
  id: true,
  xid: true,
  tenant_id: true,
  user_id: true,
  user_email: true,
  action: true,
  resource_type: true,
  resource_id: true,
  changes: true,
  ip: true,
  user_agent: true,
  request_id: true,
  created_at: true,
} satisfies Record<Column, true>) as Column[]
const NO_HORIZON = '0'

/** Whether nothing can come before an entry any more. */
const isSettled = (horizon: string) =>
  sql<boolean>`xid < greatest(pg_snapshot_xmin(pg_current_snapshot()), ${horizon}::xid8)`

/**
 * What is there beyond a consumer's position: nothing that has committed, entries that an older
 * transaction still holds back, or entries to read.
 */
export type Backlog = 'nothing' | 'blocked' | 'readable'

/**
 * Reads one batch on from the consumer's position. Returns how many entries there were, or null when
 * the same consumer is at work elsewhere.
 */
export async function consume<C extends Column = Column>(
  db: Scopes,
  options: ConsumerOptions<C>,
): Promise<number | null> {
  return (await peek(db, options.name)) === 'readable' ? readBatch(db, options) : 0
}

/**
 * Looks past a consumer's position: one round trip that locks and writes nothing.
 * @param horizon the number below which `findHorizon` saw nothing running
 * @throws Error when the position is of another cluster, which only a start can mend
 */
export function peek(db: Scopes, consumer: string, horizon = NO_HORIZON): Promise<Backlog> {
  return db.acrossTenants(async (tx) => {
    const { rows } = await sql<{ readable: boolean | null; is_foreign: boolean | null }>`
      with position as (select xid, id from journal_consumers where consumer = ${consumer})
      select
        (select ${isSettled(horizon)} from journal
         where not is_access and (xid, id) > (
           coalesce((select xid from position), '0'), coalesce((select id from position), 0))
         order by xid, id limit 1) as readable,
        (select xid from position) >= pg_snapshot_xmax(pg_current_snapshot()) as is_foreign
      `.execute(tx.db)
    const [next] = rows
    // Reading on would pass over new entries in silence; the start puts it right.
    if (next?.is_foreign)
      throw new Error('the database was replaced by one of another cluster: restart the service')
    if (next?.readable === true) return 'readable'
    return next?.readable === false ? 'blocked' : 'nothing'
  }, 'read')
}

/** As `consume`, without looking first: for when there is something to read. */
export function readBatch<C extends Column>(
  db: Scopes,
  options: ConsumerOptions<C>,
  horizon = NO_HORIZON,
): Promise<number | null> {
  return db.acrossTenants(async (tx) => {
    const position = await lockPosition(tx, options.name)
    if (!position) return null
    const beyond = tx.db
      .selectFrom('journal')
      .where(sql<boolean>`not is_access`)
      .where(sql<boolean>`(xid, id) > (${position.xid}::xid8, ${position.id})`)
      .where(isSettled(horizon))
      .orderBy('xid')
      .orderBy('id')
      .limit(options.batch ?? BATCH)
    const wanted = new Set<Column>(['xid', 'id', ...(options.columns ?? EVERY_COLUMN)])
    const entries = await beyond
      .select([...wanted])
      .$castTo<JournalEntry>()
      .execute()
    const last = entries.at(-1)
    if (!last) return 0
    await options.handle(tx, entries)
    const moved = tx.db
      .updateTable('journal_consumers')
      .set({
        xid: last.xid,
        id: last.id,
        updated_at: sql`now()`,
        failing_since: null,
        error: null,
      })
      .where('consumer', '=', options.name)
    tx.send(moved.compile())
    return entries.length
  })
}

/** The consumer's position, held until the transaction ends; undefined when another one holds it. */
async function lockPosition(
  tx: TenantTx,
  consumer: string,
): Promise<Pick<JournalConsumersTable, 'xid' | 'id'> | undefined> {
  const held = await tx.db
    .selectFrom('journal_consumers')
    .select(['xid', 'id'])
    .where('consumer', '=', consumer)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst()
  if (held) return held
  // Either another one holds it, or nobody has read under this name yet.
  return tx.db
    .insertInto('journal_consumers')
    .values({ consumer, xid: '0', id: 0 })
    .onConflict((conflict) => conflict.doNothing())
    .returning(['xid', 'id'])
    .executeTakeFirst()
}
