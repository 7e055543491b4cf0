/** Limits how many operations of one kind a caller can run simultaneously. Each node counts separately. */
import { type KeyedQueue, keyedQueue } from '../../lib/keyed-queue.ts'
import { Problem } from '../../lib/problems.ts'
import type { Time } from '../../lib/time.ts'

const AT_ONCE = 2
const MAX_WAITING = 100
const PATIENCE_MS = 5_000

/** A queue of operations per caller, keyed by the user id. */
export type CallerQueue = KeyedQueue<number>

/**
 * Creates a queue that answers 429 if too many operations wait, or one waits too long. @param what their plural name
 */
export const callerQueue = (what: string, clock: Pick<Time, 'monotonic'>): CallerQueue =>
  keyedQueue({
    perKey: AT_ONCE,
    maxWaiting: MAX_WAITING,
    patience: { ms: PATIENCE_MS, clock },
    refusal: () =>
      new Problem('too_many_requests', {
        detail: `More than ${AT_ONCE} of your ${what} are running. Wait for their responses.`,
        retryAfter: 1,
      }),
  })
