/** What a table keeps for a time: deleted in small batches by a job, and told of where no job does. */
import { type RawBuilder, sql } from 'kysely'
import { type Clock, HOUR, isoAt } from '../lib/clock.ts'
import { inBatches } from '../lib/in-batches.ts'
import type { AgreedClock, Scopes, TenantTx } from './db/index.ts'
import type { Fix } from './fix.ts'

export interface Outdated {
  readonly table: string
  /** The columns of its primary key. */
  readonly key: readonly string[]
  /** Milliseconds for which a row is kept after its time. */
  readonly keptMs: number
  /** Whether a row's time came before `at`, ISO 8601. */
  isBefore(at: string): RawBuilder<boolean>
}

const BATCH = 1000
/** In one repair: a million rows. More are found again. */
const MOST_BATCHES = 1000
const MOST_COUNTED = 10_000
/** The jobs run every hour or more often: what is there for longer they do not delete. */
const LEFT_MS = 6 * HOUR

/**
 * Deletes up to `limit` rows that expired before `at`. Returns how many. The outer condition repeats the inner
 * one, because PostgreSQL re-checks only the outer one on a row that another transaction extended.
 */
export async function deleteOutdated(
  tx: TenantTx,
  { table, key, isBefore }: Outdated,
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

const deleteBatch = (tx: TenantTx, outdated: Outdated, clock: Clock) =>
  deleteOutdated(tx, outdated, isoAt(clock, -outdated.keptMs), BATCH)

/** Deletes all that is outdated. @throws the signal's reason between two batches */
export async function purgeOutdated(
  { db, clock }: { db: Scopes; clock: Clock },
  tables: readonly Outdated[],
  signal: AbortSignal,
): Promise<void> {
  for (const outdated of tables)
    await inBatches(signal, async () => {
      return (await db.acrossTenants((tx) => deleteBatch(tx, outdated, clock))) === BATCH
    })
}

/** The fault of rows that no job deletes: the tables are looked at by their indexes on the time. */
export function outdatedFix(
  tables: readonly Outdated[],
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
    plan: 'Deletes them as the job would have, in small batches.',
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
      for (let batch = 0; batch < MOST_BATCHES; batch += 1) {
        const count = await repairing((tx) => deleteBatch(tx, outdated, agreed))
        deleted += count
        if (count < BATCH) break
      }
      return deleted > 0 ? 'repaired' : 'already gone'
    },
  }
}

async function countLeft(tx: TenantTx, { table, isBefore }: Outdated, at: string) {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (
      select from ${sql.table(table)} where ${isBefore(at)} limit ${MOST_COUNTED}) few`.execute(
    tx.db,
  )
  return rows[0]?.count ?? 0
}
