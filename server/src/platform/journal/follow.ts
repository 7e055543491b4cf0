/** Follows the journal. Reads when notified of an entry, and polls in case notifications are lost. */
import { poller } from '../../lib/poller.ts'
import { type Changes, logFailures, type Scopes } from '../db/index.ts'
import type { Logger } from '../observe/log.ts'
import { JOURNAL_TOPIC } from './append.ts'
import { backlogFinder } from './backlog.ts'
import { BATCH, type ConsumerOptions, type JournalEntry, readBatch } from './consumer.ts'
import { failureNotes } from './failures.ts'

export interface FollowOptions<C extends keyof JournalEntry = keyof JournalEntry>
  extends ConsumerOptions<C> {
  /** Milliseconds between polls without a notification. The default is 1,000. */
  pollMs?: number
  /** Change notifications. They wake the follower for new entries of any node. */
  changes?: Changes
}

export interface Follower {
  /** Polls now instead of waiting for the next interval. */
  wake(): void
  /** Resolves when every entry committed before the call has been read, or when the follower stops. */
  idle(): Promise<void>
  stop(): Promise<void>
}

/** Minimum gap between polls, and first delay of the backoff. Entries written during the gap are read together. */
const APART_MS = 5
/** Minimum gap after a batch of irrelevant entries, so that more of them are read together. */
const GATHER_MS = 25
/** Minimum gap after a failure, even if new entries wake the follower. */
const AFTER_FAILURE_MS = 1_000

/** Reads all available batches, and then waits for a notification or the next poll, until stopped. */
export function follow<C extends keyof JournalEntry = keyof JournalEntry>(
  db: Scopes,
  log: Logger,
  options: FollowOptions<C>,
): Follower {
  const { pollMs = 1_000 } = options
  let eagerMs = APART_MS
  let isCaughtUp = false
  let isStopped = false
  let apartMs = APART_MS
  const look = backlogFinder(db, options)
  const notes = failureNotes(db, options.name, log)
  const reading: ConsumerOptions<C> = {
    ...options,
    async handle(tx, entries) {
      apartMs = (await options.handle(tx, entries)) === false ? GATHER_MS : APART_MS
    },
  }

  /** Reads a batch if one is readable. Returns the milliseconds until the next poll. */
  async function step(): Promise<number> {
    isCaughtUp = false
    const { backlog, horizon } = await look()
    isCaughtUp = backlog === 'nothing'
    if (isCaughtUp) return pollMs
    const count = backlog === 'readable' ? await readBatch(db, reading, horizon) : null
    if (count === null) {
      // Polls with increasing delays. Nothing notifies when a blocking transaction ends or another process stops
      // reading.
      eagerMs *= 2
      return Math.min(eagerMs / 2, pollMs)
    }
    eagerMs = APART_MS
    notes.gotOn()
    return count === (options.batch ?? BATCH) ? 0 : Math.min(eagerMs, pollMs)
  }

  const noting = async () => {
    try {
      return await step()
    } catch (error) {
      await notes.failed(error)
      throw error
    }
  }
  const steps = poller(noting, {
    clock: db.clock,
    pollMs,
    minGapMs: () => Math.min(apartMs, pollMs),
    failureGapMs: Math.min(AFTER_FAILURE_MS, pollMs),
    onError: logFailures(`reading of the journal for ${options.name}`, log),
  })
  function wake(): void {
    eagerMs = APART_MS
    steps.wake()
  }
  const unsubscribe = options.changes?.subscribe((topic) => {
    if (topic === JOURNAL_TOPIC || topic === null) wake()
  })
  return {
    wake,
    async idle() {
      do await steps.idle()
      while (!isCaughtUp && !isStopped)
    },
    async stop() {
      isStopped = true
      unsubscribe?.()
      await steps.stop()
    },
  }
}
