/**
 * Reads the journal in order, as an outbox: each reader at its own pace, restartable, seeing every
 * committed entry exactly once in the transaction that moves its position.
 *
 * The order is (transaction, id). A transaction takes its number when it writes first but may
 * commit much later, so only entries below the oldest running transaction are read: what is there
 * then can no longer be joined by anything older.
 */
import { sql } from 'kysely'
import type { Scopes, TenantTx } from '../db/index.ts'
import { canFail } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'
import type { JournalTable } from './journal.table.ts'

/** An entry as readers get it. */
export type JournalEntry = {
  [K in keyof JournalTable]: JournalTable[K] extends { readonly __select__: infer S }
    ? S
    : JournalTable[K]
}

export interface ReaderOptions {
  /** The reader's name, under which its position is kept. */
  name: string
  /** Entries taken in one transaction at the most. */
  batch?: number
  /** Milliseconds between looks when nothing wakes the reader. */
  pollMs?: number
  /** Does the reader's work; on an error nothing moves and the batch comes again. */
  handle(tx: TenantTx, entries: JournalEntry[]): Promise<void>
}

export interface Follower {
  /** Looks now instead of at the next poll. */
  wake(): void
  stop(): Promise<void>
}

/**
 * Reads one batch on from the reader's position. Answers how many entries there were, or null when
 * the same reader is at work elsewhere.
 */
export function readOn(db: Scopes, options: ReaderOptions): Promise<number | null> {
  return db.acrossTenants(async (tx) => {
    await tx.db
      .insertInto('journal_readers')
      .values({ reader: options.name, xid: '0', id: 0 })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    const position = await tx.db
      .selectFrom('journal_readers')
      .select(['xid', 'id'])
      .where('reader', '=', options.name)
      .forUpdate()
      .skipLocked()
      .executeTakeFirst()
    if (!position) return null
    const entries = await tx.db
      .selectFrom('journal')
      .selectAll()
      .where(sql<boolean>`(xid, id) > (${position.xid}::xid8, ${position.id})`)
      .where(sql<boolean>`xid < pg_snapshot_xmin(pg_current_snapshot())`)
      .orderBy('xid')
      .orderBy('id')
      .limit(options.batch ?? 500)
      .execute()
    const last = entries.at(-1)
    if (!last) return 0
    await options.handle(tx, entries)
    await tx.db
      .updateTable('journal_readers')
      .set({ xid: last.xid, id: last.id, updated_at: sql`now()` })
      .where('reader', '=', options.name)
      .execute()
    return entries.length
  })
}

/** Follows the journal until stopped: batch after batch while there is more, then by polling. */
export function follow(db: Scopes, log: Logger, options: ReaderOptions): Follower {
  const batch = options.batch ?? 500
  let stopped = false
  // A call that comes while a batch is read must not be lost: the next pause ends at once.
  let isWoken = false
  let endPause = (): void => undefined
  const wake = () => {
    isWoken = true
    endPause()
  }
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      if (isWoken) return resolve()
      const timer = setTimeout(resolve, ms)
      endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  async function run(): Promise<void> {
    while (!stopped) {
      isWoken = false
      const read = await canFail(
        readOn(db, options),
        `reading the journal for ${options.name}`,
        log,
      )
      if (read !== batch && !stopped) await pause(options.pollMs ?? 1000)
    }
  }

  const running = run()
  return {
    wake,
    async stop() {
      stopped = true
      wake()
      await running
    },
  }
}
