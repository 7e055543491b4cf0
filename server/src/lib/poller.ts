/** Work that is looked for again and again: at once when woken or while there is more, else by polling. */
import type { Time } from './time.ts'

/**
 * Looks for work once and does what it finds. Returns true when there is more to do at once, false
 * to look again after `pollMs`, or the milliseconds to wait in place of these. A call of `wake` ends
 * the wait.
 */
export type Look = () => Promise<boolean | number>

export interface PollerOptions {
  clock: Pick<Time, 'after'>
  /** Milliseconds between looks when nothing wakes it; `Infinity` to look only when woken. */
  pollMs: number
  /**
   * The least pause, in milliseconds, however often it is woken: what comes meanwhile goes together. A
   * function where it depends on what the look found.
   */
  minGapMs?: number | (() => number)
  /** The least pause after a look that failed; `minGapMs` by default. */
  failureGapMs?: number
  /**
   * Called with what a look has thrown; the next look comes after `pollMs`, or when woken.
   * @param previous what the look before has thrown; undefined when it went well
   */
  onError(error: unknown, previous: unknown): void
}

export interface Poller {
  /** Has it look now. A call during a look is not lost: another look follows. */
  wake(): void
  /** Wakes the poller. Resolves after a look that started later found nothing more to do, or when the poller stops. */
  idle(): Promise<void>
  /** Ends the pause, begins no further look, and waits for the one that is under way. */
  stop(): Promise<void>
}

/** Begins to look in the next turn of the event loop's microtasks, one look at a time, until stopped. */
export function poller(
  look: Look,
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

  /** Looks once. Returns how long to pause, and for how long even when woken. */
  async function lookOnce(): Promise<{ wait: number; gap: number }> {
    isWoken = false
    try {
      const found = await look()
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
      const { wait, gap } = await lookOnce()
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
