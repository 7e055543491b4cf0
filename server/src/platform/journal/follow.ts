/**
 * Follows the journal over time: reads on at once when an entry is announced, and looks by itself
 * where no announcement can be relied on. How a batch is read stands in `read-on.ts`.
 */
import { performance } from 'node:perf_hooks'
import type { Changes, Scopes } from '../db/index.ts'
import { canFail } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'
import { JOURNAL_TOPIC } from './append.ts'
import { findHorizon } from './horizon.ts'
import { BATCH, type JournalEntry, look, type ReaderOptions, type Sight, take } from './read-on.ts'

export interface FollowOptions<C extends keyof JournalEntry = keyof JournalEntry>
  extends ReaderOptions<C> {
  /** Milliseconds between looks when nothing wakes the reader; a second by default. */
  pollMs?: number
  /** Wakes the reader for every entry, whichever node has written it. */
  changes?: Changes
}

export interface Follower {
  /** Looks now instead of at the next poll. */
  wake(): void
  stop(): Promise<void>
}

/**
 * Looks are at least this far apart, however often the reader is woken: what is written meanwhile
 * is read together. It is also where the looks begin that become rarer.
 */
const APART_MS = 5
/** What is held back for longer is asked for the database of what holds it back. */
const HELD_MS = 1_000
/** A reader that fails is not hurried by the entries that others write. */
const AFTER_FAILURE_MS = 1_000

/** Follows the journal until stopped: batch after batch while there is more, then when woken. */
export function follow<C extends keyof JournalEntry = keyof JournalEntry>(
  db: Scopes,
  log: Logger,
  options: FollowOptions<C>,
): Follower {
  const { pollMs = 1_000 } = options
  let stopped = false
  // A call that comes while a batch is read must not be lost: the next rest ends at once.
  let isWoken = false
  let endRest = (): void => undefined
  let eagerMs = APART_MS
  let heldSince: number | undefined
  let horizon: string | undefined

  function wake(): void {
    isWoken = true
    eagerMs = APART_MS
    endRest()
  }

  /** Waits, but not after a stop; with `untilWoken`, only until the reader is woken. */
  const rest = (ms: number, untilWoken: boolean) =>
    new Promise<void>((resolve) => {
      const isOver = () => stopped || (untilWoken && isWoken)
      if (isOver()) return resolve()
      const timer = setTimeout(resolve, ms)
      endRest = () => {
        if (!isOver()) return
        clearTimeout(timer)
        resolve()
      }
    })

  /** Looks past a transaction of another database as well, once it has held entries back for long. */
  async function lookOn(): Promise<Sight> {
    const sight = await look(db, options.name, horizon)
    if (sight !== 'held back') {
      heldSince = undefined
      return sight
    }
    heldSince ??= performance.now()
    if (horizon === undefined && performance.now() - heldSince < HELD_MS) return sight
    const { xid, isFurther } = await findHorizon(db)
    // While it runs, all that is written is held back at first.
    horizon = isFurther ? xid : undefined
    return isFurther ? look(db, options.name, horizon) : sight
  }

  /** Reads a batch, if there is one. Answers how long nothing more is expected, in milliseconds. */
  async function step(): Promise<number> {
    const sight = await lookOn()
    if (sight === 'nothing') return pollMs
    const count = sight === 'readable' ? await take(db, options, horizon) : null
    if (count === null) {
      // Nobody says when an older transaction ends that held entries back, or the same reader's
      // work elsewhere: a look soon, and then ever more rarely.
      eagerMs *= 2
      return eagerMs / 2
    }
    eagerMs = APART_MS
    return count === (options.batch ?? BATCH) ? 0 : eagerMs
  }

  async function run(): Promise<void> {
    while (!stopped) {
      isWoken = false
      const wait = await canFail(step(), `reading the journal for ${options.name}`, log)
      if (wait === undefined) await rest(Math.min(AFTER_FAILURE_MS, pollMs), false)
      else if (wait > 0) {
        await rest(Math.min(APART_MS, pollMs), false)
        await rest(Math.min(wait, pollMs) - APART_MS, true)
      }
    }
  }

  const unsubscribe = options.changes?.subscribe((topic) => {
    if (topic === JOURNAL_TOPIC || topic === null) wake()
  })
  const running = run()
  return {
    wake,
    async stop() {
      unsubscribe?.()
      stopped = true
      endRest()
      await running
    },
  }
}
