/** Looks for work repeatedly: immediately when it is woken or while there is more work, otherwise at intervals. */
import type { Time } from './time.ts'

/** Returns true if more work is left, false to look again after `pollMs`, or the milliseconds to wait unless woken. */
export type Poll = () => Promise<boolean | number>

export interface PollerOptions {
  clock: Pick<Time, 'after'>
  /** Milliseconds between two looks if the poller is not woken. `Infinity` disables polling. */
  pollMs: number
  /** The minimum pause between two looks in milliseconds, also when woken, so that several wake-ups are combined. */
  minGapMs?: number | (() => number)
  /** The minimum pause after a failed look. The default is `minGapMs`. */
  failureGapMs?: number
  /** Receives the error of a failed look. @param previous the error of the previous look, or undefined */
  onError(error: unknown, previous: unknown): void
}

export interface Poller {
  /** Starts a look now. If a look is already running, another one follows. */
  wake(): void
  /**
   * Wakes the poller. Resolves when a look that started after this call finds no work left, or when the poller stops.
   */
  idle(): Promise<void>
  /** Ends the pause, waits for the current look, and starts no other look. */
  stop(): Promise<void>
}

/** Starts to look for work in the next microtask. Runs one look at a time, until the poller is stopped. */
export function poller(
  poll: Poll,
  { clock, pollMs, minGapMs = 0, failureGapMs, onError }: PollerOptions,
): Poller {
  const minGap = () => (typeof minGapMs === 'function' ? minGapMs() : minGapMs)
  let isStopped = false
  let isWoken = false
  let previous: unknown
  let endPause = (): void => undefined
  const awaitingIdle: (() => void)[] = []

  const pause = (ms: number, isOver: () => boolean) =>
    new Promise<void>((resolve) => {
      if (isOver()) return resolve()
      const cancel = ms === Number.POSITIVE_INFINITY ? undefined : clock.after(ms, resolve)
      endPause = () => {
        if (!isOver()) return
        cancel?.()
        resolve()
      }
    })

  /** Looks once. Returns the pause in milliseconds, and the minimum pause that applies even if the poller is woken. */
  async function pollOnce(): Promise<{ wait: number; gap: number }> {
    isWoken = false
    try {
      const found = await poll()
      previous = undefined
      const wait = typeof found === 'number' ? found : found ? 0 : pollMs
      return { wait, gap: wait > 0 ? minGap() : 0 }
    } catch (error) {
      onError(error, previous)
      previous = error
      return { wait: pollMs, gap: failureGapMs ?? minGap() }
    }
  }

  async function run(): Promise<void> {
    while (!isStopped) {
      const asked = awaitingIdle.splice(0)
      const { wait, gap } = await pollOnce()
      if (wait === 0) awaitingIdle.unshift(...asked)
      else for (const resolve of asked) resolve()
      if (gap > 0) await pause(gap, () => isStopped)
      if (wait > gap) await pause(wait - gap, () => isStopped || isWoken)
    }
    for (const resolve of awaitingIdle.splice(0)) resolve()
  }

  function wake(): void {
    isWoken = true
    endPause()
  }

  const running = Promise.resolve().then(run)
  return {
    wake,
    async idle() {
      if (isStopped) return
      const settled = new Promise<void>((resolve) => void awaitingIdle.push(resolve))
      wake()
      await settled
    },
    async stop() {
      isStopped = true
      endPause()
      await running
    },
  }
}
