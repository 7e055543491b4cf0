/**
 * Throttles guesses at identifiers. `identifier_taken` reveals whether somebody is a patient of the tenant, also to
 * users who may not see that patient (decisions §8).
 */
import { HOUR, MINUTE, SECOND } from '../../../lib/clock.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Caller } from '../../../platform/access/index.ts'
import { problemOf } from '../../../platform/db/index.ts'
import type { Throttle, ThrottleRule } from '../../../platform/throttle/index.ts'
import type { Identifier } from './fields.ts'

/** As many as break-glass allows. */
const TAKEN_BY_USER: ThrottleRule = {
  name: 'patient identifier taken',
  free: 10,
  first: MINUTE / SECOND,
  longest: HOUR / SECOND,
}

/** The unique index that refuses a second patient with the same identifier. */
export const IDENTIFIER_CONFLICT = { patient_tokens__identifier: 'identifier_taken' } as const

/**
 * Runs work that stores a patient's fields, and counts refused identifiers by user.
 * @throws Problem 409 `identifier_taken`, 429 after too many of them
 */
export type GuessedIdentifiers = <T>(
  caller: Caller,
  fields: { identifiers?: readonly Identifier[] },
  work: () => Promise<T>,
) => Promise<T>

export const guessedIdentifiers =
  (throttle: Throttle): GuessedIdentifiers =>
  async (caller, { identifiers = [] }, work) => {
    // Without identifiers there is nothing to guess.
    if (identifiers.length === 0) return work()
    const count = { rule: TAKEN_BY_USER, of: String(caller.user_id) }
    return throttle.countRefusals(count, 'identifier_taken', async () => {
      try {
        return await work()
      } catch (error) {
        const code = problemOf(error, IDENTIFIER_CONFLICT)?.code
        throw code === 'identifier_taken' ? new Problem(code, { cause: error }) : error
      }
    })
  }
