/** The SQL of counting failed guesses. */
import { type RawBuilder, sql } from 'kysely'
import type { TenantTx } from '../db/index.ts'
import type { Outdated } from '../outdated.ts'
import './throttle.table.ts'

export interface Tally {
  key: Buffer
  failures: number
  free_at: string
}

/** The counts of the keys that have any failure which is not forgotten. */
export function findTallies(tx: TenantTx, keys: Buffer[], now: string): Promise<Tally[]> {
  return tx.db
    .selectFrom('throttles')
    .select(['key', 'failures', 'free_at'])
    .where('key', 'in', keys)
    .where('forget_at', '>', now)
    .execute()
}

export interface Failure {
  key: Buffer
  now: string
  forget_at: string
  /** Failures that cost nothing; from the last of them on each doubles the delay. */
  free: number
  /** Seconds of the first delay and of the longest. */
  first: number
  longest: number
}

/** Counts a failure, atomically: any number at once counts as that many. */
export async function countFailure(tx: TenantTx, failure: Failure): Promise<void> {
  const { key, now, forget_at, free, first, longest } = failure
  const freeAfter = (failures: RawBuilder<unknown>) => sql`${now}::timestamptz
    + make_interval(secs => case when ${failures} < ${free}::int then 0
      else least(${longest}::float8, ${first}::float8 * power(2, least(${failures} - ${free}::int, 30))) end)`
  const failures = sql`(case when throttles.forget_at <= ${now}::timestamptz then 1 else throttles.failures + 1 end)`
  await sql`
    insert into throttles (key, failures, free_at, forget_at)
    values (${key}, 1, ${freeAfter(sql`1`)}, ${forget_at})
    on conflict (key) do update set
      failures = ${failures},
      free_at = ${freeAfter(failures)},
      forget_at = excluded.forget_at`.execute(tx.db)
}

export async function forget(tx: TenantTx, key: Buffer): Promise<void> {
  await tx.db.deleteFrom('throttles').where('key', '=', key).execute()
}

export const OUTDATED_THROTTLES: Outdated = {
  table: 'throttles',
  key: ['key'],
  keptMs: 0,
  isBefore: (at) => sql`forget_at < ${at}::timestamptz`,
}
