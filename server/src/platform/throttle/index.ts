/**
 * Slows down guessing at secrets: after a few failures each further one doubles the wait, for the
 * account and for the address it comes from (OWASP ASVS 5.0 §6.3). Counted in the database, so all
 * nodes count together. A wait is never for good: it ends, and a known address has a count of its own.
 */
import { createHash } from 'node:crypto'
import { type Clock, HOUR, isoAt, SECOND } from '../../lib/clock.ts'
import { Problem, type ProblemCode } from '../../lib/problems.ts'
import { problemOf, type Scopes, type TenantTx } from '../db/index.ts'
import { canFail } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'
import { type Admit, openAdmission } from './admission.ts'
import type { Count, Standing } from './counts.ts'
import * as store from './throttle.store.ts'
import { openTurns } from './turns.ts'

export type { Count, Standing, ThrottleRule } from './counts.ts'
export { createRateLimiter, type RateLimiter } from './rate-limiter.ts'
export { OUTDATED_THROTTLES, tallyOf } from './throttle.store.ts'
export { openTurns, type Turns } from './turns.ts'

/** What a query has found of a count; null where no failure of it is known. */
export type Tallied = Omit<store.Tally, 'key'> | null

/** Failures are forgotten when none has come for this long. */
const FORGOTTEN_AFTER = HOUR

/** The status or the code of a refusal that counts. */
export type Refusal = 404 | 409 | ProblemCode

export interface Throttle {
  /**
   * Runs `work` with what `look` has read, and with the longest wait of the counts: what a wait means
   * is for the caller to say. Without one, as many run side by side as the counts leave free; `work`
   * throws when the guess was wrong, and has then counted it.
   */
  admit: Admit
  /**
   * How the counts stand, read within the caller's transaction; in the order of the counts. The question is
   * sent at once.
   */
  standings(tx: TenantTx, counts: readonly Count[]): Promise<Standing[]>
  /** How a count stands that a query of the caller's has found (`tallyOf`). */
  standingOf(tally: Tallied): Standing
  /** Counts a failure within the caller's transaction. */
  fail(tx: TenantTx, counts: readonly Count[]): Promise<void>
  /** Forgets the failures. Where that fails it is logged: whoever was right keeps what they are given. */
  clear(count: Count): Promise<void>
  /**
   * Lets a guess be made, one at a time for the first count's subject on this node, so that guesses
   * sent together are judged one after another. A guess counts when it throws `invalid_credentials`,
   * `wrong_password`, `wrong_code` or `link_code_invalid`; one that returns clears the first count,
   * unless its rule keeps it.
   * @throws Problem 429 while any of the counts makes the caller wait
   */
  guess<T>(counts: readonly [Count, ...Count[]], attempt: () => Promise<T>): Promise<T>
  /** Counts an event that is no guess at one secret, such as a registration. @throws Problem 429 */
  count(count: Count): Promise<void>
  /** The same within the caller's transaction. Returns false, and counts nothing, where one has to wait. */
  take(tx: TenantTx, count: Count): Promise<boolean>
  /**
   * Does work and counts each refusal with this status or code, because it reveals what exists. As many run side by
   * side as the count leaves free.
   * @throws Problem 429
   */
  countRefusals<T>(count: Count, refusal: Refusal, work: () => Promise<T>): Promise<T>
}

export function openThrottle(db: Scopes, clock: Clock, log: Logger): Throttle {
  const inTurn = openTurns(1)
  const admit = openAdmission((count) => keyOf(count).toString('hex'))

  async function standings(tx: TenantTx, counts: readonly Count[]): Promise<Standing[]> {
    const keys = counts.map(keyOf)
    const known = await store.findTallies(tx, keys, isoAt(clock))
    return keys.map((key) => standingOf(known.find((one) => one.key.equals(key))))
  }

  function standingOf(tally: Tallied | undefined): Standing {
    if (!tally) return { failures: 0, wait: 0 }
    return { failures: tally.failures, wait: Math.max(Date.parse(tally.free_at) - clock.now(), 0) }
  }

  const standingsOf = (counts: readonly Count[]) =>
    db.acrossTenants((tx) => standings(tx, counts), 'read')

  /** Returns whether any failure is known. */
  async function refuseWaiting(counts: readonly Count[]): Promise<boolean> {
    const found = await standingsOf(counts)
    const wait = Math.max(...found.map((standing) => standing.wait))
    if (wait > 0) throw tooMany(wait)
    return found.some(({ failures }) => failures > 0)
  }

  const failureOf = (count: Count): store.Failure => ({
    key: keyOf(count),
    ...count.rule,
    now: isoAt(clock),
    forget_at: isoAt(clock, FORGOTTEN_AFTER),
  })

  async function countFailures(tx: TenantTx, counts: readonly Count[]): Promise<void> {
    const failures = counts.map(failureOf)
    // Always in the order of the keys: two that share several never wait for each other.
    failures.sort((a, b) => a.key.compare(b.key))
    await Promise.all(failures.map((one) => store.countFailure(tx, one)))
  }

  const fail = (counts: readonly Count[]) => db.acrossTenants((tx) => countFailures(tx, counts))

  async function clear(count: Count): Promise<void> {
    const forgotten = db.acrossTenants((tx) => store.forget(tx, keyOf(count)))
    await canFail(forgotten, 'clearing a count of wrong guesses', log)
  }

  return {
    admit,
    standings,
    standingOf,
    fail: countFailures,
    clear,
    guess: (counts, attempt) =>
      inTurn(keyOf(counts[0]).toString('hex'), async () => {
        const hasFailed = await refuseWaiting(counts)
        try {
          const result = await attempt()
          // The address keeps its count: an own account must not clear it for guesses at others.
          if (hasFailed && !counts[0].rule.isKept) await clear(counts[0])
          return result
        } catch (error) {
          if (error instanceof Problem && GUESSED_WRONG.has(error.code)) await fail(counts)
          throw error
        }
      }),
    count: (count) =>
      inTurn(keyOf(count).toString('hex'), async () => {
        await refuseWaiting([count])
        await fail([count])
      }),
    take: (tx, count) => store.countUnlessWaiting(tx, failureOf(count)),
    countRefusals: (count, refusal, work) =>
      admit(
        [count],
        async () => ({ standings: await standingsOf([count]) }),
        async (_seen, wait) => {
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

/** The refusal of a caller who has to wait. */
export function tooMany(wait: number): Problem {
  return new Problem('too_many_requests', { retryAfter: Math.ceil(wait / SECOND) })
}

const GUESSED_WRONG = new Set([
  'invalid_credentials',
  'wrong_password',
  'wrong_code',
  'link_code_invalid',
])

const spelled = ({ rule, of }: Count): string => `${rule.name}\0${of}`

function keyOf(count: Count): Buffer {
  return createHash('sha256').update(spelled(count)).digest()
}

/** What `tallyOf` makes the key of: what is counted, as far as it is known before the query. */
export const startOf = (count: Count): Buffer => Buffer.from(spelled(count))

export { THROTTLE_TABLES } from './throttle.table.ts'
