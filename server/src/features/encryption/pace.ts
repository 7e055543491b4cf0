/** How fast the sweep goes: it gives way to those who wait for the event loop or for a connection. */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'

/** How long the event loop may keep others waiting before the sweep gives way. */
const BUSY_MS = 10
/** How often the event loop is looked at. */
const RESOLUTION_MS = 5

/** What others felt while a batch was worked at. */
export interface Felt {
  /** The longest that the event loop kept somebody waiting. */
  heldMs: number
  /** How many transactions wait for a connection. */
  waiting: number
}

/** Of a time that the sweep works, how many it rests at the most. */
const MOST_RESTS = 8

/**
 * How many times as long as a batch took the sweep rests behind it: while others have to wait more each time, as
 * senders of a network give way to others, and less once they do not.
 */
export function restsAfter(rests: number, { heldMs, waiting }: Felt): number {
  const isFelt = heldMs > BUSY_MS || waiting > 0
  if (isFelt) return Math.min(MOST_RESTS, Math.max(1, 2 * rests))
  return rests > 1 ? rests / 2 : 0
}

export interface Pace {
  /** Rests where others had to wait since it was last asked, or shortly before. */
  rest(): Promise<void>
  stop(): void
}

/** @param waiting how many transactions wait for a connection */
export function openPace(waiting: () => number): Pace {
  const held = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  held.enable()
  let begun = performance.now()
  let rests = 0
  return {
    async rest() {
      const workedMs = performance.now() - begun
      const heldMs = held.max / 1e6 - RESOLUTION_MS
      rests = restsAfter(rests, { heldMs, waiting: waiting() })
      await delay(rests * workedMs)
      held.reset()
      begun = performance.now()
    },
    stop: () => void held.disable(),
  }
}
