/** Keeps the journal's monthly partitions ahead of the calendar. */
import { sql } from 'kysely'
import { HOUR } from '../../lib/clock.ts'
import type { Scopes } from '../db/index.ts'
import type { Upkeep } from '../upkeep.ts'

const MONTHS_AHEAD = 2

/** Makes the partitions of this month and the next two, where missing. Returns how many it made. */
export async function ensurePartitions(db: Scopes): Promise<number> {
  return db.acrossTenants(async (tx) => {
    const { rows } = await sql<{ made: number }>`
      select ensure_journal_partitions(${MONTHS_AHEAD}) as made`.execute(tx.db)
    return rows[0]?.made ?? 0
  })
}

/** Keeps them ahead, on every node: making them twice is harmless. */
export function partitionsUpkeep(db: Scopes): Upkeep {
  return {
    what: 'making journal partitions ahead',
    everyMs: 6 * HOUR,
    isNeededToServe: true,
    run: () => ensurePartitions(db),
  }
}
