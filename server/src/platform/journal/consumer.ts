/**
 * Reads the journal in order, as an outbox. Each consumer has its own pace and may restart. It handles every committed
 * entry exactly once, in the transaction that advances its position.
 *
 * Entries are ordered by (transaction id, entry id). A transaction receives its id with its first write but may commit
 * much later. Consumers therefore read only entries below the oldest running transaction, because no older entry can
 * appear there later. Consumers do not get accesses (decision 0021), unless they ask for them.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Scopes, TenantTx } from '../db/index.ts'
import type { Action } from './actions.ts'
import type { JournalTable } from './journal.table.ts'

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
  /** Whether the consumer also reads accesses. Accesses send no notification, so the consumer finds them by polling. */
  includesAccesses?: boolean
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
  who_salt: true,
  what_salt: true,
  mac: true,
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
  return (await peek(db, options)) === 'readable' ? readBatch(db, options) : 0
}

/** A place in the order of the journal: after the entry with this transaction and id. */
export interface Position {
  xid: string
  id: number
}

export type Reader = Pick<ConsumerOptions, 'name' | 'includesAccesses'>

/**
 * Checks for entries in one round trip, without locks or writes.
 * @param horizon see `findHorizon`
 * @param after the position; by default the stored position of the consumer
 * @throws Error if the position is from another database cluster, which only a restart can correct
 */
export function peek(
  db: Scopes,
  reader: Reader,
  horizon = NO_HORIZON,
  after?: Position,
): Promise<Backlog> {
  const position = after
    ? sql`select ${after.xid}::xid8 as xid, ${after.id}::bigint as id`
    : sql`select xid, id from journal_consumers where consumer = ${reader.name}`
  const first = (isAccess: boolean) => sql`(
    select xid, id from journal
    where ${ofKind(isAccess)} and (xid, id) > (
      coalesce((select xid from position), '0'), coalesce((select id from position), 0))
    order by xid, id limit 1)`
  return db.acrossTenants(async (tx) => {
    const { rows } = await sql<{ readable: boolean | null; is_foreign: boolean | null }>`
      with position as (${position})
      select
        (select ${isSettled(horizon)} from (${merged(reader, first)}) as next
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

/** The SQL condition of one of the two partial indexes by position. */
const ofKind = (isAccess: boolean) =>
  isAccess ? sql<boolean>`is_access` : sql<boolean>`not is_access`

/** Combines the entries of both indexes for a consumer that reads accesses, or returns the other entries alone. */
const merged = (
  { includesAccesses = false }: Reader,
  select: (isAccess: boolean) => RawBuilder<unknown>,
) => (includesAccesses ? sql`${select(false)} union all ${select(true)}` : select(false))

/** Reads one batch without calling `peek` first. For callers that know that there are unread entries. */
export function readBatch<C extends Column>(
  db: Scopes,
  options: ConsumerOptions<C>,
  horizon = NO_HORIZON,
): Promise<number | null> {
  return db.acrossTenants(async (tx) => {
    const position = await lockPosition(tx, options.name)
    if (!position) return null
    const entries = await readAfter(tx, options, position, horizon)
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

/** Reads the entries after a position, without locks. The caller knows from `peek` that the position is valid. */
export async function readAfter(
  tx: TenantTx,
  options: Omit<ConsumerOptions, 'handle' | 'columns'> & { columns?: readonly Column[] },
  after: Position,
  horizon = NO_HORIZON,
): Promise<JournalEntry[]> {
  const wanted = new Set<Column>(['xid', 'id', ...(options.columns ?? EVERY_COLUMN)])
  const columns = sql.join([...wanted].map((name) => sql.ref(name)))
  const beyond = (isAccess: boolean) => sql`(
    select ${columns} from journal
    where ${ofKind(isAccess)} and (xid, id) > (${after.xid}::xid8, ${after.id})
      and ${isSettled(horizon)}
    order by xid, id limit ${options.batch ?? BATCH})`
  const { rows } = await sql<JournalEntry>`
    select ${columns} from (${merged(options, beyond)}) as entry
    order by xid, id limit ${options.batch ?? BATCH}`.execute(tx.db)
  return rows
}

/** Returns the entries with an action that the transaction itself has written. */
export async function readOwn(tx: TenantTx, action: Action): Promise<JournalEntry[]> {
  const columns = sql.join(EVERY_COLUMN.map((name) => sql.ref(name)))
  const { rows } = await sql<JournalEntry>`
    select ${columns} from journal
    where xid = pg_current_xact_id() and not is_access and action = ${action}
    order by id`.execute(tx.db)
  return rows
}

/** Locks the consumer's position until the transaction ends. Returns undefined if another process has locked it. */
async function lockPosition(tx: TenantTx, consumer: string): Promise<Position | undefined> {
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
