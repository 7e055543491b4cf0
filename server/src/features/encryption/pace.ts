/** How fast the sweep goes: it gives way to those who wait for the event loop, a connection or the database. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { type Scopes, watchOthers } from '../../platform/db/index.ts'

/** How long the event loop may keep others waiting before the sweep gives way. */
const BUSY_MS = 10
/** How often the event loop is looked at. */
const RESOLUTION_MS = 5
/** Of the time that the sweep works, how many it rests at the most. */
const MOST_RESTS = 8
/** So many for each transaction that others have under way at once. */
const RESTS_PER_OTHER = 6
/** Fewer, on the average, are those of a service that nobody uses. */
const NOBODY = 0.3

/** What others felt while the sweep worked. */
export interface Felt {
  /** The longest that the event loop kept somebody waiting. */
  heldMs: number
  /** How many transactions wait for a connection. */
  waiting: number
  /** How many transactions of others were under way, on the average. */
  others: number
}

/**
 * How many times as long as it worked the sweep rests: the longer the more others there are, and while these have to
 * wait for longer each time, as senders of a network give way to others; for less once they do not.
 */
export function restsAfter(rests: number, { heldMs, waiting, others }: Felt): number {
  const isFelt = heldMs > BUSY_MS || waiting > 0
  const eased = rests > 1 ? rests / 2 : 0
  const due = isFelt ? Math.max(1, 2 * rests) : eased
  return Math.min(MOST_RESTS, Math.max(due, RESTS_PER_OTHER * (others - NOBODY)))
}

export interface Pace {
  /** Runs a transaction of the sweep's own. */
  work<T>(run: () => Promise<T>): Promise<T>
  /** Rests where others felt it since it was last asked. Resolves with whether they did. */
  rest(): Promise<boolean>
  stop(): void
}

type Held = ReturnType<typeof monitorEventLoopDelay>

function watchLoop(): Held {
  const held = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  held.enable()
  return held
}

/** @param held how long the event loop has kept others waiting, in nanoseconds */
export function openPace(
  db: Pick<Scopes, 'waiting' | 'spentMs' | 'clock'>,
  held: Pick<Held, 'max' | 'reset' | 'disable'> = watchLoop(),
): Pace {
  let ownMs = 0
  let restedFor = 0
  let rests = 0
  const others = watchOthers(db)
  return {
    async work(run) {
      const begun = db.clock.monotonic()
      try {
        return await run()
      } finally {
        ownMs += db.clock.monotonic() - begun
      }
    },
    async rest() {
      const own = ownMs - restedFor
      // Until one of them is done there is nothing to tell by.
      if (own > 0) {
        const heldMs = held.max / 1e6 - RESOLUTION_MS
        rests = restsAfter(rests, { heldMs, waiting: db.waiting(), others: others.look(own) })
        await db.clock.delay(rests * own)
        held.reset()
        restedFor = ownMs
        others.begin()
      }
      return rests > 0
    },
    stop: () => void held.disable(),
  }
}
