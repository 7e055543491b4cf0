/**
 * Follows the journal over time: reads on at once when notified of an entry, and looks by itself
 * where no notification can be relied on. How a batch is read stands in `consumer.ts`.
 */
import { poller } from '../../lib/poller.ts'
import { type Changes, logFailures, type Scopes } from '../db/index.ts'
import type { Logger } from '../observe/log.ts'
import { JOURNAL_TOPIC } from './append.ts'
import {
  BATCH,
  type Backlog,
  type ConsumerOptions,
  type JournalEntry,
  peek,
  readBatch,
} from './consumer.ts'
import { failureNotes } from './failures.ts'
import { findHorizon } from './horizon.ts'

export interface FollowOptions<C extends keyof JournalEntry = keyof JournalEntry>
  extends ConsumerOptions<C> {
  /** Milliseconds between looks when nothing wakes the consumer; a second by default. */
  pollMs?: number
  /** Wakes the consumer for every entry, whichever node has written it. */
  changes?: Changes
}

export interface Follower {
  /** Looks now instead of at the next poll. */
  wake(): void
  /** Resolves when every entry that was committed at the call is read, or when stopped. */
  idle(): Promise<void>
  stop(): Promise<void>
}

/**
 * Looks are at least this far apart, however often the consumer is woken: what is written meanwhile
 * is read together. It is also where the looks begin that become rarer.
 */
const APART_MS = 5
/** And this far behind entries of which nothing came: what nobody waits for is read together. */
const GATHER_MS = 25
/** What is held back for longer is asked for the database of what holds it back. */
const BLOCKED_MS = 1_000
/** A consumer that fails is not hurried by the entries that others write. */
const AFTER_FAILURE_MS = 1_000

/** Follows the journal until stopped: batch after batch while there is more, then when woken. */
export function follow<C extends keyof JournalEntry = keyof JournalEntry>(
  db: Scopes,
  log: Logger,
  options: FollowOptions<C>,
): Follower {
  const { pollMs = 1_000 } = options
  let eagerMs = APART_MS
  let blockedSince: number | undefined
  let horizon: string | undefined
  let isCaughtUp = false
  let isStopped = false
  let apartMs = APART_MS
  const notes = failureNotes(db, options.name, log)
  const reading: ConsumerOptions<C> = {
    ...options,
    async handle(tx, entries) {
      apartMs = (await options.handle(tx, entries)) === false ? GATHER_MS : APART_MS
    },
  }

  /** Looks past a transaction of another database as well, once it has held entries back for long. */
  async function peekOn(): Promise<Backlog> {
    const backlog = await peek(db, options.name, horizon)
    if (backlog !== 'blocked') {
      blockedSince = undefined
      return backlog
    }
    blockedSince ??= db.clock.monotonic()
    if (horizon === undefined && db.clock.monotonic() - blockedSince < BLOCKED_MS) return backlog
    const { xid, isFurther } = await findHorizon(db)
    // While it runs, all that is written is held back at first.
    horizon = isFurther ? xid : undefined
    return isFurther ? peek(db, options.name, horizon) : backlog
  }

  /** Reads a batch, if there is one. Returns the milliseconds for which nothing more is expected. */
  async function step(): Promise<number> {
    isCaughtUp = false
    const backlog = await peekOn()
    isCaughtUp = backlog === 'nothing'
    if (isCaughtUp) return pollMs
    const count = backlog === 'readable' ? await readBatch(db, reading, horizon) : null
    if (count === null) {
      // Nobody says when an older transaction ends that held entries back, or the same consumer's
      // work elsewhere: a look soon, and then ever more rarely.
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
    onError: logFailures(`reading the journal for ${options.name}`, log),
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
