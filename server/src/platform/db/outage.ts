/** Logs the beginning and the end of each outage, with the number of failures and each refusal's reason once. */
import type { Time } from '../../lib/time.ts'
import type { Logger } from '../observe/log.ts'
import type { Changes } from './changes.ts'
import { isDatabaseFailure, serverRefusalOf } from './failures.ts'

/** How long nothing must fail until an outage ends. The listener must also be connected. */
const CALM_MS = 1_000
const PROBE_EVERY_MS = 500

export interface Outage {
  /** Passes messages on to the log. Logs failures of an unreachable database at the level `debug`. */
  readonly log: Logger
  /** Sets the change listener. From then on, an outage ends only while the listener is connected. */
  follow(changes: Pick<Changes, 'trusted'>): void
  /** Returns true during an outage, and for 5 minutes after an outage of more than a minute. */
  isRecent(): boolean
  stop(): void
}

/** An outage longer than `LONG_MS` counts as recent for `RECENT_MS`, because health checks cover several minutes. */
const LONG_MS = 60_000
const RECENT_MS = 300_000

export function watchOutages(log: Logger, clock: Pick<Time, 'monotonic' | 'every'>): Outage {
  let begunAt: number | undefined
  let failedAt = 0
  let failures = 0
  let isRefusalLogged = false
  let isBack = () => true
  /** When the last outage longer than LONG_MS ended. */
  let endedAt = Number.NEGATIVE_INFINITY
  let stopProbing: () => void = () => undefined

  function fail(error: unknown): void {
    failedAt = clock.monotonic()
    failures += 1
    if (begunAt === undefined) {
      begunAt = failedAt
      log.warn({ err: error }, 'database not reachable')
      stopProbing = clock.every(PROBE_EVERY_MS, probe)
    }
    const refusal = serverRefusalOf(error)
    if (!refusal || isRefusalLogged) return
    isRefusalLogged = true
    log.warn({ reason: refusal.message }, 'database server rejected')
  }

  function probe(): void {
    const now = clock.monotonic()
    if (begunAt === undefined || !isBack() || now - failedAt < CALM_MS) return
    const awayMs = Math.round(now - begunAt)
    log.info({ away_ms: awayMs, failures }, 'database reachable again')
    if (awayMs > LONG_MS) endedAt = now
    begunAt = undefined
    isRefusalLogged = false
    failures = 0
    stopProbing()
  }

  const passing =
    (level: 'warn' | 'error') =>
    (fields: unknown, ...message: unknown[]) => {
      const { err } = (fields ?? {}) as { err?: unknown }
      const isOfOutage = isDatabaseFailure(err)
      if (isOfOutage) fail(err)
      const write = log[isOfOutage ? 'debug' : level] as (...line: unknown[]) => void
      write.call(log, fields, ...message)
    }

  return {
    log: {
      info: log.info.bind(log),
      debug: log.debug.bind(log),
      warn: passing('warn') as Logger['warn'],
      error: passing('error') as Logger['error'],
    },
    follow(changes) {
      isBack = changes.trusted
    },
    isRecent: () => begunAt !== undefined || clock.monotonic() - endedAt < RECENT_MS,
    stop: () => stopProbing(),
  }
}
