/** Runs the test restores that users request, in the process that received the request. */
import type { Actor } from '../../../platform/journal/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { DrilledFile } from './drill.store.ts'
import { drillNamed, type NamedDrillDeps } from './scheduled-drill.ts'

export interface Drills {
  /**
   * Starts a test restore and returns the id of its job.
   * @throws Problem 409 while a test restore is running, 503 while the backup is being deleted
   */
  start(file: DrilledFile, actor: Actor): Promise<string>
  /** Resolves when no test restore is running. */
  idle(): Promise<unknown>
  /** Ends all running test restores. */
  stop(): void
}

export function openDrills(deps: NamedDrillDeps): Drills {
  const running = new Set<Promise<unknown>>()
  const stopping = new AbortController()
  return {
    async start(file, actor) {
      const { promise: started, resolve: onStarted } = Promise.withResolvers<string>()
      const order = { actor, onStarted, signal: stopping.signal }
      const drilling = drillNamed(deps, file, order)
      // An error before the start rejects the request. A later one is logged.
      const id = await Promise.race([started, drilling.then(() => started)])
      const ended = canFail(drilling, 'test restore', deps.log)
      running.add(ended)
      void ended.then(() => running.delete(ended))
      return id
    },
    idle: () => Promise.all(running),
    stop: () => stopping.abort(new Error('the service is shutting down')),
  }
}
