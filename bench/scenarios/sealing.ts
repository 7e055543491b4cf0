/** Journals before and after their entries are sealed. */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { seed } from '../seed/seed.ts'
import type { Size } from '../seed/sizes.ts'
import { ownerOf, startService } from '../service.ts'

const LOOK_MS = 200
/** The time without progress after which the bench breaks. */
const PATIENCE_MS = 60_000

/** Seeds the database of an empty folder while nothing seals its entries. */
export async function seedUnsealed(
  folder: string,
  size: Size,
  say: (what: string) => void,
): Promise<void> {
  const service = await startService(folder, {}, 'api')
  const database = new pg.Client(ownerOf(folder))
  try {
    await database.connect()
    await seed(ownerOf(folder), size, (what) => say(`seeding the clinics: ${what}`))
    // The seeded entries have no marks, like those of the older release.
    await database.query('insert into journal_marks (since) values (now())')
  } finally {
    await database.end()
    await service.stop()
  }
}

const UNSEALED = `
  select count(*)::float8 as count from journal entry
  where not exists (select from audit_leaves leaf where leaf.entry_id = entry.id)`

/** Waits until every entry has a leaf. @throws Error if no further entry is sealed for a minute */
export const untilSealed = (database: pg.Client): Promise<void> =>
  untilNone(database, UNSEALED, 'entries are not sealed')

/** The consumer of the messenger has a position from the start, but does not run without a provider. */
const BEHIND = `
  select count(*)::float8 as count from journal_consumers reader
  where consumer <> 'messenger' and exists (select from journal
    where not is_access and (xid, id) > (reader.xid, reader.id))`

/** Waits until every running consumer has read the journal. @throws Error if none completes it for a minute */
export const untilRead = (database: pg.Client): Promise<void> =>
  untilNone(database, BEHIND, 'consumers have not read the journal')

/** Waits until a count is 0. @throws Error if the count does not fall for a minute */
async function untilNone(database: pg.Client, query: string, what: string): Promise<void> {
  let lowest = Number.POSITIVE_INFINITY
  let fellAt = performance.now()
  for (;;) {
    const count = (await database.query(query)).rows[0].count as number
    if (count === 0) return
    if (count < lowest) {
      lowest = count
      fellAt = performance.now()
    }
    if (performance.now() - fellAt > PATIENCE_MS)
      throw new Error(`${count} ${what}, and their number has not fallen for a minute`)
    await delay(LOOK_MS)
  }
}
