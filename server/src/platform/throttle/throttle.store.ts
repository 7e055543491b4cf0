/** SQL statements that count failed guesses. */
import { type RawBuilder, sql } from 'kysely'
import { statement, type TenantTx } from '../db/index.ts'
import type { OutdatedRows } from '../feature/outdated.ts'
import './throttle.table.ts'

export interface Tally {
  key: Buffer
  failures: number
  free_at: string
}

/** Builds the query for a fixed number of keys. If they were an array, the planner would assume ten elements. */
const tallies = (count: number) =>
  statement<Record<string, unknown>>((value) => {
    const keys = Array.from({ length: count }, (_, index) => value(`key${index}`))
    return sql`select key, failures, free_at from throttles
      where key in (${sql.join(keys)}) and forget_at > ${value('now')}`
  })
const byCount: ReturnType<typeof tallies>[] = []

/** Returns the counts of these keys that have not expired. Sends its query immediately. */
export function findTallies(tx: TenantTx, keys: readonly Buffer[], now: string): Promise<Tally[]> {
  const ask = byCount[keys.length] ?? tallies(keys.length)
  byCount[keys.length] = ask
  const named = Object.fromEntries(keys.map((key, index) => [`key${index}`, key]))
  return tx.sendFor<Tally>(ask({ now, ...named })).rows
}

/**
 * Returns SQL that selects a count as JSON. The key of the count ends with a value that the surrounding query finds.
 * The JSON is null if the count has no unexpired failure.
 * @param start the bytes of the key before that value
 */
export function tallyOf(
  start: RawBuilder<Buffer>,
  found: RawBuilder<string>,
  now: RawBuilder<string>,
): RawBuilder<Omit<Tally, 'key'> | null> {
  return sql`(select json_build_object('failures', failures, 'free_at', free_at) from throttles
    where key = sha256(${start}::bytea || convert_to(${found}, 'UTF8')) and forget_at > ${now})`
}

export interface Failure {
  key: Buffer
  now: string
  forget_at: string
  /** The number of failures that cause no delay. Each further failure doubles the delay. */
  free: number
  /** The first delay and the longest delay, in seconds. */
  first: number
  longest: number
}

/** Counts a failure atomically, so that no concurrent failure is lost. */
export async function countFailure(tx: TenantTx, failure: Failure): Promise<void> {
  await counting(failure).execute(tx.db)
}

/**
 * Counts a failure unless a delay is running. Concurrent calls run one after the other. Returns whether the failure was
 * counted.
 */
export async function countUnlessWaiting(tx: TenantTx, failure: Failure): Promise<boolean> {
  const { rows } = await sql`
    ${counting(failure)} where throttles.failures < ${failure.free}::int
      or throttles.free_at <= ${failure.now}::timestamptz returning key`.execute(tx.db)
  return rows.length > 0
}

function counting({ key, now, forget_at, free, first, longest }: Failure): RawBuilder<unknown> {
  const freeAfter = (failures: RawBuilder<unknown>) => sql`${now}::timestamptz
    + make_interval(secs => case when ${failures} < ${free}::int then 0
      else least(${longest}::float8, ${first}::float8 * power(2, least(${failures} - ${free}::int, 30))) end)`
  const failures = sql`(case when throttles.forget_at <= ${now}::timestamptz then 1 else throttles.failures + 1 end)`
  return sql`
    insert into throttles (key, failures, free_at, forget_at)
    values (${key}, 1, ${freeAfter(sql`1`)}, ${forget_at})
    on conflict (key) do update set
      failures = ${failures},
      free_at = ${freeAfter(failures)},
      forget_at = excluded.forget_at`
}

export async function forgetGuesses(tx: TenantTx, key: Buffer): Promise<void> {
  await tx.db.deleteFrom('throttles').where('key', '=', key).execute()
}

export const OUTDATED_THROTTLES: OutdatedRows = {
  table: 'throttles',
  key: ['key'],
  keptMs: 0,
  isBefore: (at) => sql`forget_at < ${at}::timestamptz`,
}
