/** Something that is done again and again: at once when woken or while there is more, else by polling. */
import { problemOf } from '../../../platform/db/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'

export interface Loop {
  wake(): void
  /** Ends the loop, once the look that is under way has ended. */
  stop(): Promise<void>
}

export interface LoopOptions {
  /** One look; answers whether there is more to do at once. */
  look: () => Promise<boolean>
  /** Milliseconds between looks when nothing wakes it. */
  pollMs: number
  /** What a failed look is called in the log. */
  what: string
  log: Logger
}

export function openLoop({ look, pollMs, what, log }: LoopOptions): Loop {
  let isStopped = false
  let isWoken = false
  let isAway = false
  let endPause = (): void => undefined

  const pause = () =>
    new Promise<void>((resolve) => {
      // A call that came during the look must not be lost.
      if (isWoken || isStopped) return resolve()
      const timer = setTimeout(resolve, pollMs)
      endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  /** One look. What fails is tried again; that the database is away is said once. */
  async function tryLooking(): Promise<boolean> {
    try {
      const hasMore = await look()
      isAway = false
      return hasMore
    } catch (error) {
      const wasAway = isAway
      isAway = problemOf(error)?.code === 'database_away'
      if (!wasAway || !isAway) log.warn({ err: error }, `${what} failed`)
      return false
    }
  }

  async function run(): Promise<void> {
    while (!isStopped) {
      isWoken = false
      if (!(await tryLooking())) await pause()
    }
  }

  const running = Promise.resolve().then(run)
  return {
    wake() {
      isWoken = true
      endPause()
    },
    async stop() {
      isStopped = true
      endPause()
      await running
    },
  }
}
