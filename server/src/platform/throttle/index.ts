/**
 * Throttles attempts to guess secrets. After a few failures, each further failure doubles the delay for the account and
 * for the source address (OWASP ASVS 5.0 §6.3). The counts are in the database, so all nodes share them. Every delay
 * ends, and addresses known to an account have separate counts.
 */
import { createHash } from 'node:crypto'
import { type Clock, HOUR, isoAt, SECOND } from '../../lib/clock.ts'
import { keyedQueue } from '../../lib/keyed-queue.ts'
import { Problem, type ProblemCode } from '../../lib/problems.ts'
import { problemOf, type Scopes, type TenantTx } from '../db/index.ts'
import { canFail } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'
import { type Admit, openAdmission } from './admission.ts'
import type { GuessCount, GuessCounts } from './counts.ts'
import * as store from './throttle.store.ts'

export type { GuessCount, GuessCounts, ThrottleRule } from './counts.ts'
export { createRateLimiter, type RateLimiter } from './rate-limiter.ts'
export { OUTDATED_THROTTLES, tallyOf } from './throttle.store.ts'

/** The state of a count as read by a query, or null if the count has no unexpired failure. */
export type Tallied = Omit<store.Tally, 'key'> | null

/** How long after the last failure all failures of a count expire. */
const FORGOTTEN_AFTER = HOUR

/** The status or error code of a rejection that counts as a failure. */
export type GuessRefusal = 404 | 409 | ProblemCode

export interface Throttle {
  /**
   * Runs `work` with the result of `look` and the longest delay of the counts. The caller decides how to respond to a
   * delay. If there is no delay, runs as many guesses in parallel as the counts allow. If the guess is wrong, `work`
   * must count the failure and throw.
   */
  admit: Admit
  /**
   * Returns the states of the counts in the given order, read in the caller's transaction. Sends its query immediately.
   */
  readCounters(tx: TenantTx, counts: readonly GuessCount[]): Promise<GuessCounts[]>
  /** Returns the state of a count that the caller has read with its own query (see `tallyOf`). */
  counterOf(tally: Tallied): GuessCounts
  /** Counts a failure in the caller's transaction. */
  fail(tx: TenantTx, counts: readonly GuessCount[]): Promise<void>
  /** Clears the failures of a count. An error is only logged, because the correct guess must succeed in any case. */
  clear(count: GuessCount): Promise<void>
  /**
   * Runs a guess. Each node runs guesses for the subject of the first count one at a time. A guess fails if it throws
   * `invalid_credentials`, `wrong_password`, `wrong_code` or `link_code_invalid`. Success clears the first count unless
   * its rule has `isKept`.
   * @throws Problem 429 while any of the counts imposes a delay
   */
  guess<T>(counts: readonly [GuessCount, ...GuessCount[]], attempt: () => Promise<T>): Promise<T>
  /**
   * Counts an event that is not a guess, such as a registration.
   * @throws Problem 429 while the count imposes a delay
   */
  count(count: GuessCount): Promise<void>
  /** Counts an event in the caller's transaction. During a delay, counts nothing and returns false. */
  take(tx: TenantTx, count: GuessCount): Promise<boolean>
  /**
   * Runs work. Counts each rejection with this status or code, because such a rejection reveals which records exist.
   * Runs as many calls in parallel as the count allows.
   * @throws Problem 429 while the count imposes a delay
   */
  countRefusals<T>(count: GuessCount, refusal: GuessRefusal, work: () => Promise<T>): Promise<T>
}

export function openThrottle(db: Scopes, clock: Clock, log: Logger): Throttle {
  const oneByOne = keyedQueue<string>({ perKey: 1 })
  const admit = openAdmission((count) => keyOf(count).toString('hex'))

  async function readCounters(tx: TenantTx, counts: readonly GuessCount[]): Promise<GuessCounts[]> {
    const keys = counts.map(keyOf)
    const known = await store.findTallies(tx, keys, isoAt(clock))
    return keys.map((key) => counterOf(known.find((one) => one.key.equals(key))))
  }

  function counterOf(tally: Tallied | undefined): GuessCounts {
    if (!tally) return { failures: 0, wait: 0 }
    return { failures: tally.failures, wait: Math.max(Date.parse(tally.free_at) - clock.now(), 0) }
  }

  const readCountersOf = (counts: readonly GuessCount[]) =>
    db.acrossTenants((tx) => readCounters(tx, counts), 'read')

  /** Returns true if one of the counts has a failure. Throws Problem 429 during a delay. */
  async function refuseWaiting(counts: readonly GuessCount[]): Promise<boolean> {
    const found = await readCountersOf(counts)
    const wait = Math.max(...found.map((counter) => counter.wait))
    if (wait > 0) throw tooMany(wait)
    return found.some(({ failures }) => failures > 0)
  }

  const failureOf = (count: GuessCount): store.Failure => ({
    key: keyOf(count),
    ...count.rule,
    now: isoAt(clock),
    forget_at: isoAt(clock, FORGOTTEN_AFTER),
  })

  async function countFailures(tx: TenantTx, counts: readonly GuessCount[]): Promise<void> {
    const failures = counts.map(failureOf)
    // Sorts by key, so that transactions with several common counts cannot deadlock.
    failures.sort((a, b) => a.key.compare(b.key))
    await Promise.all(failures.map((one) => store.countFailure(tx, one)))
  }

  const fail = (counts: readonly GuessCount[]) =>
    db.acrossTenants((tx) => countFailures(tx, counts))

  async function clear(count: GuessCount): Promise<void> {
    const forgotten = db.acrossTenants((tx) => store.forgetGuesses(tx, keyOf(count)))
    await canFail(forgotten, 'reset of a failed sign-in counter', log)
  }

  return {
    admit,
    readCounters,
    counterOf,
    fail: countFailures,
    clear,
    guess: (counts, attempt) =>
      oneByOne.run(keyOf(counts[0]).toString('hex'), async () => {
        const hasFailed = await refuseWaiting(counts)
        try {
          const result = await attempt()
          // Clears only the first count. Otherwise a user could reset the count of an address by signing in to their
          // own account.
          if (hasFailed && !counts[0].rule.isKept) await clear(counts[0])
          return result
        } catch (error) {
          if (error instanceof Problem && GUESSED_WRONG.has(error.code)) await fail(counts)
          throw error
        }
      }),
    count: (count) =>
      oneByOne.run(keyOf(count).toString('hex'), async () => {
        await refuseWaiting([count])
        await fail([count])
      }),
    take: (tx, count) => store.countUnlessWaiting(tx, failureOf(count)),
    countRefusals: (count, refusal, work) =>
      admit(
        [count],
        async () => ({ counters: await readCountersOf([count]) }),
        async (_read, wait) => {
          if (wait > 0) throw tooMany(wait)
          try {
            return await work()
          } catch (error) {
            const problem = error instanceof Problem ? error : problemOf(error)
            if (problem?.status === refusal || problem?.code === refusal) await fail([count])
            throw error
          }
        },
      ),
  }
}

/** Creates the 429 error for a caller who must wait. @param wait milliseconds */
export function tooMany(wait: number): Problem {
  return new Problem('too_many_requests', { retryAfter: Math.ceil(wait / SECOND) })
}

const GUESSED_WRONG = new Set([
  'invalid_credentials',
  'wrong_password',
  'wrong_code',
  'link_code_invalid',
])

const spelled = ({ rule, of }: GuessCount): string => `${rule.name}\0${of}`

function keyOf(count: GuessCount): Buffer {
  return createHash('sha256').update(spelled(count)).digest()
}

/** Returns the start of a count's key, to which `tallyOf` appends a value from its query. */
export const keyPrefixOf = (count: GuessCount): Buffer => Buffer.from(spelled(count))

export { THROTTLE_TABLES } from './throttle.table.ts'
