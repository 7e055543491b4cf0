/** Deletes outdated rows in small batches. Also detects outdated rows that the scheduled jobs missed. */
import { type RawBuilder, sql } from 'kysely'
import { type Clock, HOUR, isoAt } from '../../lib/clock.ts'
import { inBatches } from '../../lib/in-batches.ts'
import type { AgreedClock, Scopes, TenantTx } from '../db/index.ts'
import type { Fix } from './fix.ts'

export interface OutdatedRows {
  readonly table: string
  readonly key: readonly string[]
  /** How many milliseconds a row is kept after it has expired. */
  readonly keptMs: number
  /** Returns the SQL condition that a row expired before `at` (ISO 8601). */
  isBefore(at: string): RawBuilder<boolean>
}

const BATCH = 1000
/** The maximum number of batches per repair. They delete a million rows. The next scan finds the remaining ones. */
const MAX_BATCHES = 1000
const MAX_COUNTED = 10_000
/** The age of outdated rows that the jobs must have missed. The jobs run at least hourly. */
const LEFT_MS = 6 * HOUR

/**
 * Deletes up to `limit` rows that expired before `at`. Repeats the condition outside the subquery, because PostgreSQL
 * rechecks only that one if another transaction has just extended a row's lifetime.
 */
export async function deleteOutdatedRows(
  tx: TenantTx,
  { table, key, isBefore }: OutdatedRows,
  at: string,
  limit: number,
): Promise<number> {
  const columns = sql.join(key.map((column) => sql.ref(column)))
  const { numAffectedRows = 0n } = await sql`
    delete from ${sql.table(table)} where ${isBefore(at)} and (${columns}) in (
      select ${columns} from ${sql.table(table)} where ${isBefore(at)} limit ${limit})`.execute(
    tx.db,
  )
  return Number(numAffectedRows)
}

const deleteBatch = (tx: TenantTx, outdated: OutdatedRows, clock: Clock) =>
  deleteOutdatedRows(tx, outdated, isoAt(clock, -outdated.keptMs), BATCH)

/** Deletes all outdated rows of the tables. @throws the signal's reason if it aborts, after the current batch */
export async function purgeOutdated(
  { db, clock }: { db: Scopes; clock: Clock },
  tables: readonly OutdatedRows[],
  signal: AbortSignal,
): Promise<void> {
  for (const outdated of tables)
    await inBatches(signal, async () => {
      return (await db.acrossTenants((tx) => deleteBatch(tx, outdated, clock))) === BATCH
    })
}

/** Returns the fix for outdated rows that the jobs have missed. Its detector uses the indexes on the expiry times. */
export function outdatedFix(
  tables: readonly OutdatedRows[],
  {
    clock,
    agreedClock,
    ...words
  }: { clock: Clock; agreedClock: AgreedClock } & Pick<Fix, 'key' | 'title' | 'description'>,
): Fix {
  return {
    ...words,
    severity: 'low',
    automatic: true,
    plan: 'Deletes the outdated rows in small batches, as the scheduled job does.',
    async detect(tx) {
      const counted = await Promise.all(
        tables.map(async (outdated) => ({
          table: outdated.table,
          rows: await countLeft(tx, outdated, isoAt(clock, -outdated.keptMs - LEFT_MS)),
        })),
      )
      const findings = counted
        .filter(({ rows }) => rows > 0)
        .map((measured) => ({
          tenant_id: null,
          subject: `table ${measured.table}`,
          measured,
          expected: { rows: 0 },
        }))
      return { findings, looked_at: tables.length }
    },
    async repair({ measured }, repairing) {
      const outdated = tables.find(({ table }) => table === measured.table)
      if (!outdated) return 'already gone'
      const agreed = await agreedClock.read()
      let deleted = 0
      for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
        const count = await repairing((tx) => deleteBatch(tx, outdated, agreed))
        deleted += count
        if (count < BATCH) break
      }
      return deleted > 0 ? 'repaired' : 'already gone'
    },
  }
}

async function countLeft(tx: TenantTx, { table, isBefore }: OutdatedRows, at: string) {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (
      select from ${sql.table(table)} where ${isBefore(at)} limit ${MAX_COUNTED}) few`.execute(
    tx.db,
  )
  return rows[0]?.count ?? 0
}
