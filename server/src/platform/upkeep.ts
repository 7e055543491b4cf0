/** The upkeep of a node: once at its start, and then every so often. */
import { canFail } from './observe/can-fail.ts'
import type { Logger } from './observe/log.ts'

/** Work of every node, whatever its role: harmless when another node has just done it. */
export interface Upkeep {
  /** What the log calls it when it fails: "making partitions". */
  what: string
  everyMs: number
  /** Runs once at the start, which fails with it, and then every `everyMs`. */
  run(): Promise<unknown>
}

/**
 * Does each once, in their order, and sees to it that they are done again. Returns how to stop.
 * @throws what the first of them fails with; none is done again then
 */
export async function startUpkeep(upkeep: readonly Upkeep[], log: Logger): Promise<() => void> {
  for (const { run } of upkeep) await run()
  const timers = upkeep.map(({ what, everyMs, run }) =>
    setInterval(() => void canFail(Promise.try(run), what, log), everyMs).unref(),
  )
  return () => timers.forEach(clearInterval)
}
