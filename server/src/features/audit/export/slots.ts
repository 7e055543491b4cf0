/** Bounds how many exports a user runs at once on a node. */
import { Problem } from '../../../lib/problems.ts'

const MAX_AT_ONCE = 2
const RETRY_SECONDS = 10

/** Takes a slot of a user. Returns the function that gives it back. @throws Problem 429 if the user has none left */
export type TakeSlot = (userId: number) => () => void

/** Returns the slots of all users. */
export function exportSlots(): TakeSlot {
  const taken = new Map<number, number>()
  return (userId) => {
    const count = taken.get(userId) ?? 0
    if (count >= MAX_AT_ONCE)
      throw new Problem('too_many_requests', {
        detail: `You have ${MAX_AT_ONCE} exports running. Wait for one to end, or cancel it.`,
        retryAfter: RETRY_SECONDS,
      })
    taken.set(userId, count + 1)
    return () => {
      const left = (taken.get(userId) ?? 1) - 1
      if (left === 0) taken.delete(userId)
      else taken.set(userId, left)
    }
  }
}
