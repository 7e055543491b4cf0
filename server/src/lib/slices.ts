/** Splits long work in memory into slices, so that the event loop can run between them. */
import { performance } from 'node:perf_hooks'
import { setImmediate as turn } from 'node:timers/promises'

/** Call this after each piece of work. If the slice has ended, the call waits for a turn of the event loop. */
export type Breathe = () => Promise<void> | undefined

/** @param ms the length of a slice. Only a single piece of work may occupy the event loop for longer. */
export function slices(ms: number): Breathe {
  let since = performance.now()
  async function breath(): Promise<void> {
    await turn()
    since = performance.now()
  }
  return () => (performance.now() - since < ms ? undefined : breath())
}
