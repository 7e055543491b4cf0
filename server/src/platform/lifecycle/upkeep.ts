/** Runs the upkeep tasks of a node, once at startup and then at intervals. */
import type { Time } from '../../lib/time.ts'
import { canFail } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'

/** An upkeep task. Every node runs it, regardless of its role. It must be harmless if another node has just run it. */
export interface Upkeep {
  /** The name of the task in the log if the task fails, such as "creation of partitions". */
  what: string
  everyMs: number
  /** Whether the node cannot serve before the first run, whose failure then stops startup. Others are logged. */
  isNeededToServe: boolean
  /** Runs once at startup and then every `everyMs`. */
  run(): Promise<unknown>
}

/**
 * Runs each task once, in order, and schedules the next runs. Returns a function that cancels them. @throws the first
 * error of a task that is needed to serve, and schedules none
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
