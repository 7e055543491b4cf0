/** Limits how many exports one user can run concurrently on a node. */
import { Problem } from '../../../lib/problems.ts'

const MAX_AT_ONCE = 2
const RETRY_SECONDS = 10

/** Reserves an export slot and returns the function that releases it. @throws Problem 429 if no slot is free */
export type TakeSlot = (userId: number) => () => void

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
