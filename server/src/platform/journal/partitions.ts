/** Keeps the journal's monthly partitions ahead of the calendar. */
import { sql } from 'kysely'
import { HOUR } from '../../lib/clock.ts'
import type { Scopes } from '../db/index.ts'
import type { Upkeep } from '../upkeep.ts'

/** Makes the partitions of this month and the next two, where missing. Returns how many it made. */
export const ensurePartitions = (db: Scopes): Promise<number> => ensureMonths(db, 2)

async function ensureMonths(db: Scopes, ahead: number): Promise<number> {
  return db.acrossTenants(async (tx) => {
    const { rows } = await sql<{ made: number }>`
      select ensure_journal_partitions(${ahead}) as made`.execute(tx.db)
    return rows[0]?.made ?? 0
  })
}

/** Keeps them ahead, on every node: making them twice is harmless. What is wanted later holds no start up. */
export const partitionsUpkeep = (db: Scopes): Upkeep[] => [
  {
    what: 'making journal partitions of this month and the next',
    everyMs: 6 * HOUR,
    isNeededToServe: true,
    run: () => ensureMonths(db, 1),
  },
  {
    what: 'making journal partitions ahead',
    everyMs: 6 * HOUR,
    isNeededToServe: false,
    run: () => ensurePartitions(db),
  },
]
