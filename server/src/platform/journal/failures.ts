/** Records failures of a journal consumer in a table, so that every node can see them. */
import { sql } from 'kysely'
import { isResting, problemOf, type Scopes } from '../db/index.ts'
import { canFail } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'
import './journal.table.ts'

const APART_MS = 10_000

export interface FailureNotes {
  /** Records a failure, at most once every 10 s, because every node writes to the same table. */
  failed(error: unknown): Promise<void>
  /** Reports a success. Call this after the position has advanced, which has already cleared the recorded failure. */
  gotOn(): void
}

export function failureNotes(db: Scopes, consumer: string, log: Logger): FailureNotes {
  let notedAt = Number.NEGATIVE_INFINITY
  return {
    async failed(error) {
      const isAway = problemOf(error)?.code === 'database_away'
      if (isAway || isResting(error) || db.clock.monotonic() - notedAt < APART_MS) return
      notedAt = db.clock.monotonic()
      await canFail(
        note(db, consumer, classOf(error)),
        `recording of failures of the journal reader ${consumer}`,
        log,
      )
    },
    gotOn() {
      notedAt = Number.NEGATIVE_INFINITY
    },
  }
}

const note = (db: Scopes, consumer: string, error: string) =>
  db.acrossTenants((tx) =>
    sql`
      insert into journal_consumers as c (consumer, xid, id, failing_since, error)
      values (${consumer}, '0', 0, now(), ${error})
      on conflict (consumer) do update
        set failing_since = coalesce(c.failing_since, excluded.failing_since),
          error = excluded.error`.execute(tx.db),
  )

/** Returns only the name and code of an error, because its message may quote data. */
function classOf(error: unknown): string {
  const { name, code } = error as { name?: unknown; code?: unknown }
  const words = [name, code].filter((word) => typeof word === 'string' && /^\w{1,60}$/.test(word))
  return words.join(' ') || 'unknown'
}
