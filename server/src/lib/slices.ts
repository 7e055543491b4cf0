/** Long work in memory goes in slices, so that others get the event loop between two of them. */
import { performance } from 'node:perf_hooks'
import { setImmediate as turn } from 'node:timers/promises'

/** Asked after each piece of work. Waits for a turn of the event loop where it is due, else for nothing. */
export type Breathe = () => Promise<void> | undefined

/** @param ms how long the event loop may be held at a time, but for a single piece that takes longer */
export function slices(ms: number): Breathe {
  let since = performance.now()
  async function breath(): Promise<void> {
    await turn()
    since = performance.now()
  }
  return () => (performance.now() - since < ms ? undefined : breath())
}
