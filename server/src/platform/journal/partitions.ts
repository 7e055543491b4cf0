/** Keeps the journal's monthly partitions ahead of the calendar. */
import { sql } from 'kysely'
import type { Scopes } from '../db/index.ts'
import { canFail } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'

const MONTHS_AHEAD = 2
const LOOK_EVERY_MS = 6 * 60 * 60 * 1000

/** Makes the partitions of this month and the next two, where missing. Answers how many it made. */
export async function ensurePartitions(db: Scopes): Promise<number> {
  return db.acrossTenants(async (tx) => {
    const { rows } = await sql<{ made: number }>`
      select ensure_journal_partitions(${MONTHS_AHEAD}) as made`.execute(tx.db)
    return rows[0]?.made ?? 0
  })
}

/** Looks again every six hours, on every node: making them twice is harmless. */
export function keepPartitionsAhead(db: Scopes, log: Logger): () => void {
  const timer = setInterval(
    () => void canFail(ensurePartitions(db), 'making journal partitions ahead', log),
    LOOK_EVERY_MS,
  )
  timer.unref()
  return () => clearInterval(timer)
}
