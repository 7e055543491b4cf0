/** Slows long background work down while this process runs other transactions. */
import type { Scopes } from './scope.ts'

/** The minimum milliseconds of work between two samples. This is about the duration of a request. */
const MIN_STEP_MS = 5
/** The maximum milliseconds of a step that count. One slow step then does not cause a pause of seconds. */
const MAX_STEP_MS = 200
/** The weight of the newest sample in the average. It is low, so that a single request hardly counts. */
const NEWEST = 0.2

export interface PacerLimits {
  /** The length of the pause for each other open transaction, as a multiple of the time worked. */
  perTransaction: number
  /** The longest pause, as a multiple of the time worked. Because of this limit, the work always finishes. */
  max: number
  /** The average number of open transactions on an idle service. */
  idle: number
}

export interface Pacer {
  /** Runs a transaction of the background work itself, which does not count as another transaction. */
  own<T>(run: () => Promise<T>): Promise<T>
  /** Pauses if other transactions use the database. Concurrent calls share a pause. Returns whether it was needed. */
  rest(): Promise<boolean>
}

export function openPacer(
  db: Pick<Scopes, 'spentMs' | 'waiting' | 'clock'>,
  { perTransaction, max, idle }: PacerLimits,
): Pacer {
  const { clock } = db
  let ownMs = 0
  const read = () => ({ at: clock.monotonic(), othersMs: db.spentMs() - ownMs })
  let since = read()
  let average = 0
  let multiple = 0
  let resting: Promise<boolean> | undefined

  async function pause(): Promise<boolean> {
    const { at, othersMs } = read()
    const worked = at - since.at
    if (worked < MIN_STEP_MS) return multiple > 0
    // Adds transactions that wait for a connection, because their durations are not measured yet.
    const underWay = (othersMs - since.othersMs) / worked + db.waiting()
    average += NEWEST * (underWay - average)
    multiple = Math.min(max, perTransaction * Math.max(0, average - idle))
    if (multiple > 0) await clock.delay(multiple * Math.min(worked, MAX_STEP_MS))
    since = read()
    return multiple > 0
  }

  return {
    async own(run) {
      const begunAt = clock.monotonic()
      try {
        return await run()
      } finally {
        ownMs += clock.monotonic() - begunAt
      }
    },
    rest() {
      resting ??= pause().finally(() => {
        resting = undefined
      })
      return resting
    },
  }
}
