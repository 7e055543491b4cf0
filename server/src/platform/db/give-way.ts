/** Long work that gives way to those whose transactions run meanwhile. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Scopes } from './scope.ts'

/** Between two looks at others, in milliseconds of work. */
const STEP_MS = 20
/** Of a step's time, what counts: work that is slow by itself does not rest for seconds. */
const MOST_STEP_MS = 200
/** Of the time that it worked, how many it rests for each transaction that others had under way at once. */
const RESTS_PER_OTHER = 2
/** And at the most: it comes to its end beside any number of others. */
const MOST_RESTS = 3
/** Fewer, on the average, are those of a service that nobody uses. */
const NOBODY = 0.1
/** What the last step counts for in that average: one who comes now and then is not many. */
const NEWEST = 0.2

/** How many times as long as it worked it rests, beside so many transactions of others. */
export const restsBeside = (others: number): number =>
  Math.min(MOST_RESTS, RESTS_PER_OTHER * Math.max(0, others - NOBODY))

/**
 * For work whose own transactions are none of `db`'s. Asked between two steps it rests where others, of this
 * process, have transactions under way, and answers whether it did.
 */
export function openGiveWay(db: Pick<Scopes, 'spentMs'>): () => Promise<boolean> {
  const now = () => ({ at: performance.now(), spentMs: db.spentMs() })
  let since = now()
  let others = 0
  return async () => {
    const worked = performance.now() - since.at
    if (worked < STEP_MS) return false
    others += NEWEST * ((db.spentMs() - since.spentMs) / worked - others)
    const rests = restsBeside(others)
    if (rests > 0) await delay(rests * Math.min(worked, MOST_STEP_MS))
    since = now()
    return rests > 0
  }
}
