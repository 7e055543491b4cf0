/**
 * Throttles guesses at identifiers. The error `identifier_taken` reveals that a person is a patient of the tenant, even
 * to users who may not see that patient (decisions §8).
 */
import { HOUR, MINUTE, SECOND } from '../../../lib/clock.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Caller } from '../../../platform/access/index.ts'
import { problemOf } from '../../../platform/db/index.ts'
import type { Throttle, ThrottleRule } from '../../../platform/throttle/index.ts'
import type { Identifier } from './fields.ts'

/** Allows 10 `identifier_taken` errors per user before the first wait, like the break-glass grants per hour. */
const TAKEN_BY_USER: ThrottleRule = {
  name: 'patient identifier taken',
  free: 10,
  first: MINUTE / SECOND,
  longest: HOUR / SECOND,
}

/** The unique index that prevents two patients with the same identifier. */
export const IDENTIFIER_CONFLICT = { patient_tokens__identifier: 'identifier_taken' } as const

/**
 * Runs `work`, which stores a patient's fields. Counts each `identifier_taken` error for the user.
 * @throws Problem 409 `identifier_taken` for an identifier of another patient, 429 after too many such errors
 */
export type GuessedIdentifiers = <T>(
  caller: Caller,
  fields: { identifiers?: readonly Identifier[] },
  work: () => Promise<T>,
) => Promise<T>

export const guessedIdentifiers =
  (throttle: Throttle): GuessedIdentifiers =>
  async (caller, { identifiers = [] }, work) => {
    // Counts nothing, because a request without identifiers cannot guess any.
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
