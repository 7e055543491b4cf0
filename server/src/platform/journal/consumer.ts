/**
 * Reads the journal in order, as an outbox. Each consumer has its own pace and may restart. It handles every committed
 * entry exactly once, in the transaction that advances its position.
 *
 * Entries are ordered by (transaction id, entry id). A transaction receives its id with its first write but may commit
 * much later. Consumers therefore read only entries below the oldest running transaction, because no older entry can
 * appear there later. Consumers do not get accesses (decision 0021).
 */
import { sql } from 'kysely'
import type { Scopes, TenantTx } from '../db/index.ts'
import type { JournalConsumersTable, JournalTable } from './journal.table.ts'

/** A journal entry as consumers receive it. */
export type JournalEntry = {
  [K in keyof JournalTable as Exclude<K, 'resource_hash' | 'is_access'>]: JournalTable[K] extends {
    readonly __select__: infer S
  }
    ? S
    : JournalTable[K]
}

type Column = keyof JournalEntry

export interface ConsumerOptions<C extends Column = Column> {
  /** The consumer's name, which identifies its stored position. */
  name: string
  /** Maximum number of entries per transaction. The default is 500. */
  batch?: number
  /** The columns that the consumer needs in addition to the id. The default is all columns. */
  columns?: readonly C[]
  /**
   * Handles a batch. If it throws, the batch is retried. If it returns false, the entries were irrelevant, and the
   * follower waits longer to read more of them together.
   */
  handle(tx: TenantTx, entries: Pick<JournalEntry, C | 'id'>[]): Promise<unknown>
}

export const BATCH = 500
/** The columns are listed explicitly, so that queries never read columns that a newer release has added. */
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

/** Returns the SQL condition that no older entry can still be committed before this one. */
const isSettled = (horizon: string) =>
  sql<boolean>`xid < greatest(pg_snapshot_xmin(pg_current_snapshot()), ${horizon}::xid8)`

/** The state after a consumer's position: no committed entries, blocked by an older transaction, or readable. */
export type Backlog = 'nothing' | 'blocked' | 'readable'

/** Reads one batch. Returns the number of entries, or null if another process is reading for this consumer. */
export async function consume<C extends Column = Column>(
  db: Scopes,
  options: ConsumerOptions<C>,
): Promise<number | null> {
  return (await peek(db, options.name)) === 'readable' ? readBatch(db, options) : 0
}

/**
 * Checks for entries in one round trip, without locks or writes. @param horizon see `findHorizon` @throws Error if the
 * position is from another database cluster, which only a restart can correct
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
    // Throws, because continuing would silently skip new entries. A restart of the service corrects the position.
    if (next?.is_foreign)
      throw new Error('the database was replaced by one from another cluster; restart the service')
    if (next?.readable === true) return 'readable'
    return next?.readable === false ? 'blocked' : 'nothing'
  }, 'read')
}

/** Reads one batch without calling `peek` first. For callers that know that there are unread entries. */
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

/** Locks the consumer's position until the transaction ends. Returns undefined if another process has locked it. */
async function lockPosition(
  tx: TenantTx,
  consumer: string,
): Promise<Pick<JournalConsumersTable, 'xid' | 'id'> | undefined> {
  const position = await tx.db
    .selectFrom('journal_consumers')
    .select(['xid', 'id'])
    .where('consumer', '=', consumer)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst()
  if (position) return position
  // Either another process has locked the position, or the consumer is new.
  return tx.db
    .insertInto('journal_consumers')
    .values({ consumer, xid: '0', id: 0 })
    .onConflict((conflict) => conflict.doNothing())
    .returning(['xid', 'id'])
    .executeTakeFirst()
}
