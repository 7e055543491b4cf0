/** The time source of tests: the real one, until a test moves it. */
import type { Time } from '../../src/lib/time.ts'
import { until } from './until.ts'

export interface MovableClock extends Time {
  /** Moves the date forward, as a correction of the system clock does. Timers and `monotonic` do not notice. */
  advance(ms: number): void
  /** Lets time pass: the date and `monotonic` move, and every timer that is due by then fires before this returns. */
  elapse(ms: number): void
  /** Waits until code waits for `ms`, by `delay` or `after`, and lets that time pass. */
  elapseOnceWaiting(ms: number): Promise<void>
  /** Returns whether code waits for `ms`: by `delay` or `after`, or by the named one alone. */
  isWaiting(ms: number, by?: 'delay' | 'after'): boolean
  /** Returns how many repeated calls are set and not cancelled. */
  repeating(): number
  /** Stops the date: from here on it moves with `advance` and `elapse` alone. Timers go on. */
  stop(): void
}

interface Timer {
  ms: number
  kind: 'delay' | 'after' | 'every'
  dueAt: number
  work(): void
  real: NodeJS.Timeout | undefined
}

/** Returns the real time, which a test can move. Several services may share one. */
export function movableClock(): MovableClock {
  return clockOn({ date: Date.now, monotonic: () => performance.now(), isRunning: true })
}

/** Returns a time that stands still: nothing fires but by `elapse`. */
export function frozenClock(): MovableClock {
  // Whole milliseconds: with a fraction, sums of what elapses may fall short of a limit by a rounding error.
  const [date, monotonic] = [Date.now(), Math.floor(performance.now())]
  return clockOn({ date: () => date, monotonic: () => monotonic, isRunning: false })
}

/**
 * Lets each `delay` of `ms` pass while the work runs. Returns what the work returns. Pollers wait by `after`, so theirs
 * do not count.
 */
export async function passWaits<T>(clock: MovableClock, ms: number, work: Promise<T>): Promise<T> {
  let isOver = false
  const ended = work.finally(() => {
    isOver = true
  })
  // The caller sees a failure when it awaits the result.
  ended.catch(() => undefined)
  while (!isOver) {
    if (clock.isWaiting(ms, 'delay')) clock.elapse(ms)
    await new Promise((resolve) => void setImmediate(resolve))
  }
  return ended
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
  const isWaiting: MovableClock['isWaiting'] = (ms, by) =>
    [...timers].some(
      (timer) => timer.ms === ms && (by ? timer.kind === by : timer.kind !== 'every'),
    )

  function elapse(ms: number): void {
    const until = monotonic() + ms
    // Timers that fire may set others, which are due within the same time.
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
    after: setterOf('after'),
    every: (ms, work) => {
      const cancel = repeat(setterOf('every'), ms, work)
      repeats.add(cancel)
      return () => {
        repeats.delete(cancel)
        cancel()
      }
    },
    repeating: () => repeats.size,
    delay: (ms, { signal } = {}) => delayBy(setterOf('delay'), ms, signal),
    advance(ms) {
      moved += ms
    },
    elapse,
    isWaiting,
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
