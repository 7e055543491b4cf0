/** Counts the whole journal again, while the consumer keeps counting new entries. */
import { MINUTE, SECOND } from '../../lib/clock.ts'
import { limitStatements, type Scopes, type TenantTx } from '../../platform/db/index.ts'
import { addTallies } from './counting.ts'
import {
  type CountingPosition,
  countChunk,
  deleteJournalCounts,
  findCountingPosition,
  listPrunings,
} from './rebuild.store.ts'
import { addCounts, type StatsCount } from './stats.store.ts'

const CHUNK = 50_000
/** The number of rows to write in one statement. */
const ROWS = 5_000
/** The time limit of each statement that replaces counts. A large installation has millions of them. */
const REPLACE_MS = 30 * MINUTE
/** Longer than the server's limit, so that only an unresponsive connection reaches it. */
const WAIT_MS = REPLACE_MS + 2 * SECOND

export interface RebuiltCounts {
  entries: number
  rows: number
}

/** @param entries the number of entries counted so far */
export type OnRebuildProgress = (entries: number) => void

/** The counts of all entries up to a position. */
interface Recount {
  position: CountingPosition
  entries: number
  tallies: Map<string, StatsCount>
}

/**
 * Replaces the counts of the journal's series. Counts in short transactions up to the consumer's position. Then locks
 * the position, so that the consumer pauses, counts the few entries up to it, and replaces the counts in the same
 * transaction. So each entry is counted once: up to the position here, and after it by the consumer. Keeps the counts of
 * entries past their retention, because the journal does not have these entries.
 */
export async function rebuildCounts(
  db: Scopes,
  onProgress: OnRebuildProgress = () => undefined,
): Promise<RebuiltCounts> {
  const most: Recount = { position: { xid: '0', id: 0 }, entries: 0, tallies: new Map() }
  const goOn = () =>
    db.acrossTenants(async (tx) => {
      const until = await findCountingPosition(tx)
      return until ? countNext(tx, most, until) : 0
    }, 'read')
  while ((await goOn()) === CHUNK) onProgress(most.entries)
  return db.acrossTenants(async (tx) => {
    const until = await findCountingPosition(tx, { locks: true })
    // Separate, because the transaction may run again after a lost race.
    const rest: Recount = { ...most, tallies: new Map() }
    if (until) while ((await countNext(tx, rest, until)) === CHUNK);
    limitStatements(tx, REPLACE_MS)
    // Read once, because entries may be removed in the meantime.
    const removed = await listPrunings(tx)
    await deleteJournalCounts(tx, removed, WAIT_MS)
    const rows = mergedCounts(most.tallies, rest.tallies).filter(
      ({ tenant_id, slot }) => slot > (removed.get(tenant_id) ?? ''),
    )
    for (let at = 0; at < rows.length; at += ROWS)
      await addCounts(tx, rows.slice(at, at + ROWS), WAIT_MS).rows
    return { entries: rest.entries, rows: rows.length }
  })
}

/** Adds two counts. Each row may be in both, and PostgreSQL refuses to add twice to a row in one statement. */
function mergedCounts(one: Recount['tallies'], other: Recount['tallies']): StatsCount[] {
  const all = new Map(one)
  for (const [key, tally] of other) {
    const known = all.get(key)
    all.set(key, known ? { ...known, count: known.count + tally.count } : tally)
  }
  return [...all.values()]
}

/** Adds the next entries before `until` to the counts. Returns their number. */
async function countNext(tx: TenantTx, recount: Recount, until: CountingPosition): Promise<number> {
  const { counts, last } = await countChunk(tx, recount.position, until, CHUNK)
  if (!last) return 0
  addTallies(recount.tallies, counts)
  recount.position = last
  recount.entries += last.size
  return last.size
}
