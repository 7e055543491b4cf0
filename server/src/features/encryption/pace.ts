/** How fast the sweep goes: it gives way to those who wait for the event loop or for a connection. */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'

/** How long the event loop may keep others waiting before the sweep gives way. */
const BUSY_MS = 10
/** How often the event loop is looked at. */
const RESOLUTION_MS = 5

/** What others felt while a batch was worked at. */
export interface Felt {
  workedMs: number
  /** The longest that the event loop kept somebody waiting. */
  heldMs: number
  /** How many transactions wait for a connection. */
  waiting: number
}

/** Where others had to wait, the sweep rests for as long as it worked: half of what there is stays theirs. */
export const restMs = ({ workedMs, heldMs, waiting }: Felt): number =>
  heldMs > BUSY_MS || waiting > 0 ? workedMs : 0

export interface Pace {
  /** Rests where others had to wait since it was last asked. */
  rest(): Promise<void>
  stop(): void
}

/** @param waiting how many transactions wait for a connection */
export function openPace(waiting: () => number): Pace {
  const held = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  held.enable()
  let begun = performance.now()
  return {
    async rest() {
      const workedMs = performance.now() - begun
      const heldMs = held.max / 1e6 - RESOLUTION_MS
      await delay(restMs({ workedMs, heldMs, waiting: waiting() }))
      held.reset()
      begun = performance.now()
    },
    stop: () => void held.disable(),
  }
}
