/** The time source of tests. It follows the real time until a test moves it. */
import type { Time } from '../../src/lib/time.ts'
import { until } from './until.ts'

export interface MovableClock extends Time {
  /** Moves the date forward, like a correction of the system clock. Timers and `monotonic` are not affected. */
  advance(ms: number): void
  /** Lets time pass: the date and `monotonic` move, and every timer that is due by then fires before this returns. */
  elapse(ms: number): void
  /** Waits until code calls `delay` or `after` with `ms`, and then lets that time pass. */
  elapseOnceWaiting(ms: number): Promise<void>
  /** Returns the number of repeating timers that are set and not cancelled. */
  repeating(): number
  /** Stops the date. From then on only `advance` and `elapse` move it. Timers continue to run. */
  stop(): void
}

interface Timer {
  ms: number
  kind: 'once' | 'every'
  dueAt: number
  work(): void
  real: NodeJS.Timeout | undefined
}

/** Returns a time source that follows the real time and that a test can move. Several services may share it. */
export function movableClock(): MovableClock {
  return clockOn({ date: Date.now, monotonic: () => performance.now(), isRunning: true })
}

/** Returns a time source that stands still. Timers fire only through `elapse`. */
export function frozenClock(): MovableClock {
  // Whole milliseconds, because sums of fractions may miss a limit by a rounding error.
  const [date, monotonic] = [Date.now(), Math.floor(performance.now())]
  return clockOn({ date: () => date, monotonic: () => monotonic, isRunning: false })
}

interface Source {
  date(): number
  monotonic(): number
  isRunning: boolean
}

function clockOn(source: Source): MovableClock {
  let moved = 0
  let elapsed = 0
  let stoppedAt: number | undefined
  const timers = new Set<Timer>()
  const repeats = new Set<() => void>()
  const monotonic = () => source.monotonic() + elapsed

  function fire(timer: Timer): void {
    clearTimeout(timer.real)
    if (timers.delete(timer)) timer.work()
  }

  function start(timer: Timer): void {
    clearTimeout(timer.real)
    if (source.isRunning)
      timer.real = setTimeout(() => fire(timer), Math.max(0, timer.dueAt - monotonic()))
  }

  function set(kind: Timer['kind'], ms: number, work: () => void): () => void {
    const timer: Timer = { ms, kind, dueAt: monotonic() + ms, work, real: undefined }
    timers.add(timer)
    start(timer)
    return () => {
      clearTimeout(timer.real)
      timers.delete(timer)
    }
  }

  const setterOf =
    (kind: Timer['kind']): Time['after'] =>
    (ms, work) =>
      set(kind, ms, work)
  const isWaiting = (ms: number) =>
    [...timers].some((timer) => timer.ms === ms && timer.kind !== 'every')

  function elapse(ms: number): void {
    const until = monotonic() + ms
    // A timer that fires may set another timer, which may be due within the same time.
    for (let next = first(timers, until); next; next = first(timers, until)) {
      pass(Math.max(0, next.dueAt - monotonic()))
      fire(next)
    }
    pass(Math.max(0, until - monotonic()))
    for (const timer of timers) start(timer)
  }

  function pass(ms: number): void {
    elapsed += ms
    moved += ms
  }

  return {
    now: () => (stoppedAt ?? source.date()) + moved,
    monotonic,
    after: setterOf('once'),
    every: (ms, work) => {
      const cancel = repeat(setterOf('every'), ms, work)
      repeats.add(cancel)
      return () => {
        repeats.delete(cancel)
        cancel()
      }
    },
    repeating: () => repeats.size,
    delay: (ms, { signal } = {}) => delayBy(setterOf('once'), ms, signal),
    advance(ms) {
      moved += ms
    },
    elapse,
    async elapseOnceWaiting(ms) {
      await until(`something to wait for ${ms} ms`, () => isWaiting(ms) || undefined)
      elapse(ms)
    },
    stop() {
      stoppedAt ??= source.date()
    },
  }
}

function first(timers: ReadonlySet<Timer>, until: number): Timer | undefined {
  let next: Timer | undefined
  for (const timer of timers)
    if (timer.dueAt <= until && timer.dueAt < (next?.dueAt ?? Number.POSITIVE_INFINITY))
      next = timer
  return next
}

function repeat(after: Time['after'], ms: number, work: () => void): () => void {
  let cancel = after(ms, again)
  function again(): void {
    cancel = after(ms, again)
    work()
  }
  return () => cancel()
}

function delayBy(after: Time['after'], ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      cancel()
      reject(Object.assign(new Error('aborted', { cause: signal?.reason }), { name: 'AbortError' }))
    }
    const cancel = after(ms, () => {
      signal?.removeEventListener('abort', abort)
      resolve()
    })
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}
