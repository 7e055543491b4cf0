/** Creates the journal's monthly partitions ahead of time. */
import { sql } from 'kysely'
import { HOUR } from '../../lib/clock.ts'
import type { Scopes } from '../db/index.ts'
import type { Upkeep } from '../lifecycle/upkeep.ts'

/** Creates missing partitions for this month and the next two. Returns how many it created. */
export const ensurePartitions = (db: Scopes): Promise<number> => ensureMonths(db, 2)

async function ensureMonths(db: Scopes, ahead: number): Promise<number> {
  return db.acrossTenants(async (tx) => {
    const { rows } = await sql<{ made: number }>`
      select ensure_journal_partitions(${ahead}) as made`.execute(tx.db)
    return rows[0]?.made ?? 0
  })
}

/** Creates partitions ahead of time on every node (idempotent). Startup waits for this month and the next. */
export const partitionsUpkeep = (db: Scopes): Upkeep[] => [
  {
    what: 'creation of journal partitions for this month and the next',
    everyMs: 6 * HOUR,
    isNeededToServe: true,
    run: () => ensureMonths(db, 1),
  },
  {
    what: 'creation of future journal partitions',
    everyMs: 6 * HOUR,
    isNeededToServe: false,
    run: () => ensurePartitions(db),
  },
]
