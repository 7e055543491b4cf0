/**
 * Slows down guessing at secrets: after a few failures each further one doubles the wait, for the
 * account and for the address it comes from (OWASP ASVS 5.0 §6.3). Counted in the database, so all
 * nodes count together. A wait is never for good: it ends, and a known address has a count of its own.
 */
import { createHash } from 'node:crypto'
import { type Clock, HOUR, SECOND } from '../../lib/clock.ts'
import { Problem } from '../../lib/problems.ts'
import { problemOf, type Scopes } from '../db/index.ts'
import * as store from './throttle.store.ts'

export { purgeThrottles } from './throttle.store.ts'

/** Failures are forgotten when none has come for this long. */
const FORGOTTEN_AFTER = HOUR

/** What is counted: failures of one kind by one account, or by one address. */
export interface ThrottleRule {
  name: string
  /** How many failures cost nothing. */
  free: number
  /** Seconds of the first wait, and of the longest. */
  first: number
  longest: number
}

/** What one guess counts against: a rule with whom it is about. */
export interface Count {
  rule: ThrottleRule
  of: string
}

export interface Throttle {
  /**
   * Lets a guess be made, one at a time for the first count's subject on this node, so that guesses
   * sent together are judged one after another. A guess that answers false, or throws a 401, counts.
   * @throws Problem 429 while any of the counts makes the caller wait
   */
  guess<T>(counts: readonly [Count, ...Count[]], attempt: () => Promise<T>): Promise<T>
  /** Counts an event that is no guess at one secret, such as a registration. @throws Problem 429 */
  count(count: Count): Promise<void>
  /**
   * Does work of which each 409 counts, as it tells that something exists; one at a time, as guesses.
   * @throws Problem 429
   */
  unlessTaken<T>(count: Count, work: () => Promise<T>): Promise<T>
}

export function openThrottle(db: Scopes, clock: Clock): Throttle {
  const queues = new Map<string, Promise<unknown>>()

  /** Answers whether any failure is known. */
  async function refuseWaiting(counts: readonly Count[]): Promise<boolean> {
    const keys = counts.map(keyOf)
    const freeAt = await db.acrossTenants((tx) => store.findFreeAt(tx, keys), 'read')
    const wait = freeAt === undefined ? 0 : Date.parse(freeAt) - clock.now()
    if (wait > 0) throw new Problem('too_many_requests', { retryAfter: Math.ceil(wait / SECOND) })
    return freeAt !== undefined
  }

  function fail(counts: readonly Count[]): Promise<void> {
    const now = new Date(clock.now()).toISOString()
    const forget_at = new Date(clock.now() + FORGOTTEN_AFTER).toISOString()
    return db.acrossTenants(async (tx) => {
      // Always in the order of the keys: two that share several never wait for each other.
      const failures = counts.map((count) => ({ key: keyOf(count), ...count.rule }))
      failures.sort((a, b) => a.key.compare(b.key))
      for (const failure of failures) await store.countFailure(tx, { ...failure, now, forget_at })
    })
  }

  async function inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = queues.get(name)
    const turn = (before ?? Promise.resolve()).then(work, work)
    queues.set(name, turn)
    try {
      return await turn
    } finally {
      if (queues.get(name) === turn) queues.delete(name)
    }
  }

  return {
    guess: (counts, attempt) =>
      inTurn(keyOf(counts[0]).toString('hex'), async () => {
        const hasFailed = await refuseWaiting(counts)
        try {
          const result = await attempt()
          // The address keeps its count: an own account must not clear it for guesses at others.
          if (hasFailed) await db.acrossTenants((tx) => store.forget(tx, keyOf(counts[0])))
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
    unlessTaken: (count, work) =>
      inTurn(keyOf(count).toString('hex'), async () => {
        await refuseWaiting([count])
        try {
          return await work()
        } catch (error) {
          if (problemOf(error)?.status === 409) await fail([count])
          throw error
        }
      }),
  }
}

const GUESSED_WRONG = new Set(['invalid_credentials', 'wrong_password', 'wrong_code'])

/** The same for every spelling that means the same: case, width and invisible characters are nothing. */
function keyOf({ rule, of }: Count): Buffer {
  const plain = of
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu, '')
  return createHash('sha256').update(`${rule.name}\0${plain}`).digest()
}
