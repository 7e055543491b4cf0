/** The upkeep of a node: once at its start, and then every so often. */
import type { Time } from '../lib/time.ts'
import { canFail } from './observe/can-fail.ts'
import type { Logger } from './observe/log.ts'

/** Work of every node, whatever its role: harmless when another node has just done it. */
export interface Upkeep {
  /** What the log calls it when it fails: "making partitions". */
  what: string
  everyMs: number
  /**
   * Whether nothing can be served before it has run: the start fails with it then. Otherwise a run at
   * the start that fails is logged, as any later one.
   */
  isNeededToServe: boolean
  /** Runs once at the start, and then every `everyMs`. */
  run(): Promise<unknown>
}

/**
 * Does each once, in their order, and sees to it that they are done again. Returns how to stop.
 * @throws what the first fails with of those that are needed to serve; none is done again then
 */
export async function startUpkeep(
  upkeep: readonly Upkeep[],
  { log, clock }: { log: Logger; clock: Pick<Time, 'every'> },
): Promise<() => void> {
  const tryTo = ({ what, run }: Upkeep) => canFail(Promise.try(run), what, log)
  for (const one of upkeep) await (one.isNeededToServe ? one.run() : tryTo(one))
  const timers = upkeep.map((one) => clock.every(one.everyMs, () => void tryTo(one)))
  return () => {
    for (const cancel of timers) cancel()
  }
}
