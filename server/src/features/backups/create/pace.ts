/** How fast a backup goes: it rests beside those whose requests use the database meanwhile. */
import { type Scopes, watchOthers } from '../../../platform/db/index.ts'

/** Between two looks at others, in milliseconds of work: about as long as a request takes. */
const STEP_MS = 5
/** Of a step's time, what counts: work that is slow by itself does not rest for seconds. */
const MOST_STEP_MS = 200
/** How many times as long as it worked it rests, for each transaction that others had under way at once. */
const RESTS_PER_OTHER = 4
/** And at the most: it comes to its end beside any number of others. */
const MOST_RESTS = 4
/** Fewer, on the average, are those of a service that nobody uses. */
const NOBODY = 0.1

/** How many times as long as it worked it rests, beside so many transactions of others. */
export const restsBeside = (others: number): number =>
  Math.min(MOST_RESTS, RESTS_PER_OTHER * Math.max(0, others - NOBODY))

/**
 * Asked between two steps it rests where others, of this process, have transactions under way, and answers
 * whether it did. Stages that run side by side share a rest: none works on in the time of another's. A backup's own
 * connection is none of `db`'s.
 */
export function openPace(db: Pick<Scopes, 'spentMs' | 'clock'>): () => Promise<boolean> {
  const others = watchOthers(db)
  let resting: Promise<boolean> | undefined

  async function rest(): Promise<boolean> {
    const worked = others.elapsedMs()
    if (worked < STEP_MS) return false
    const rests = restsBeside(others.look())
    if (rests > 0) await db.clock.delay(rests * Math.min(worked, MOST_STEP_MS))
    others.begin()
    return rests > 0
  }

  return () => {
    resting ??= rest().finally(() => {
      resting = undefined
    })
    return resting
  }
}
