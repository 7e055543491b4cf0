/** The SQL of counting failed guesses. */
import { type RawBuilder, sql } from 'kysely'
import { statement, type TenantTx } from '../db/index.ts'
import type { Outdated } from '../outdated.ts'
import './throttle.table.ts'

export interface Tally {
  key: Buffer
  failures: number
  free_at: string
}

/** Of a list whose length is in the text: of an array the planner would take ten for granted. */
const tallies = (count: number) =>
  statement<Record<string, unknown>>((value) => {
    const keys = Array.from({ length: count }, (_, index) => value(`key${index}`))
    return sql`select key, failures, free_at from throttles
      where key in (${sql.join(keys)}) and forget_at > ${value('now')}`
  })
const byCount: ReturnType<typeof tallies>[] = []

/** The counts of the keys that have any failure which is not forgotten; the question is sent at once. */
export function findTallies(tx: TenantTx, keys: readonly Buffer[], now: string): Promise<Tally[]> {
  const ask = byCount[keys.length] ?? tallies(keys.length)
  byCount[keys.length] = ask
  const named = Object.fromEntries(keys.map((key, index) => [`key${index}`, key]))
  return tx.sendFor<Tally>(ask({ now, ...named })).rows
}

/**
 * The count whose key ends in what the query itself has found, as JSON; null where no failure of it is known.
 * @param start the bytes that the key is made of before that
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
  /** Failures that cost nothing; from the last of them on each doubles the delay. */
  free: number
  /** Seconds of the first delay and of the longest. */
  first: number
  longest: number
}

/** Counts a failure, atomically: any number at once counts as that many. */
export async function countFailure(tx: TenantTx, failure: Failure): Promise<void> {
  await counting(failure).execute(tx.db)
}

/** The same unless one has to wait: of any number at once as many count as one after another. Returns whether it did. */
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

export async function forget(tx: TenantTx, key: Buffer): Promise<void> {
  await tx.db.deleteFrom('throttles').where('key', '=', key).execute()
}

export const OUTDATED_THROTTLES: Outdated = {
  table: 'throttles',
  key: ['key'],
  keptMs: 0,
  isBefore: (at) => sql`forget_at < ${at}::timestamptz`,
}
