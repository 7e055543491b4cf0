/** Watches what of the inbox somebody may have to look at: for the health report and the metrics. */
import { Counter, Gauge, type Registry } from 'prom-client'
import { isoAt, MINUTE, SECOND } from '../../../lib/clock.ts'
import { poller } from '../../../lib/poller.ts'
import type { Time } from '../../../lib/time.ts'
import type { Changes, Scopes } from '../../../platform/db/index.ts'
import type { State } from '../../../platform/feature.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Settled } from '../applying/apply.ts'
import { INBOX_TOPIC } from '../inbox/topics.ts'
import type { Provider } from '../payment-facts.ts'
import { countOpen, lastRun, type OpenCount } from './upkeep.store.ts'

/** What waits for longer is not just busy. */
const MAX_WAIT_MS = 5 * MINUTE
/** So many runs in a row that came to no end are no passing trouble. */
const MAX_FAILURES = 3
/** As many unverified ones as there can be of a provider. */
const MAX_COUNTED = 10_000
const POLL_MS = 5 * SECOND
const MIN_GAP_MS = SECOND

export interface Watch {
  /** Of the inbox. */
  check(): State
  /** Of paygate's API, whichever node asks it. */
  checkPaygate(): State
  /** Counts what has become of notifications. */
  settled(settled: readonly Settled[]): void
  stop(): Promise<void>
}

export interface WatchDeps {
  db: Scopes
  clock: Time
  changes: Changes
  log: Logger
  registry: Registry
  /** Whether paygate's list is read at all. */
  isReconciled: boolean
  isConfigured: (provider: Provider) => boolean
}

export function watchInbox(deps: WatchDeps): Watch {
  const { db, clock, changes, log, registry, isReconciled } = deps
  const waiting = new Gauge({
    name: 'wardkeep_payment_notifications',
    help: `Notifications of payment providers that wait, are unverified or have failed, up to ${MAX_COUNTED}`,
    labelNames: ['provider', 'state'] as const,
    registers: [registry],
  })
  const outcomes = new Counter({
    name: 'wardkeep_payment_notifications_settled_total',
    help: 'Notifications of payment providers that were worked on, by what became of them',
    labelNames: ['provider', 'state'] as const,
    registers: [registry],
  })
  let open: OpenCount[] = []
  let run: Awaited<ReturnType<typeof lastRun>>

  const look = async () => {
    const found = await db.acrossTenants(
      async (tx) => ({ open: await countOpen(tx, MAX_COUNTED), run: await lastRun(tx, 'paygate') }),
      'read',
    )
    open = found.open
    run = isReconciled ? found.run : undefined
    for (const { provider, state, count } of open) waiting.set({ provider, state }, count)
    return false
  }
  const looks = poller(look, {
    clock,
    pollMs: POLL_MS,
    minGapMs: MIN_GAP_MS,
    onError: (error, previous) => {
      if (!previous) log.warn({ err: error }, 'counting notifications failed')
    },
  })
  const unsubscribe = changes.subscribe((topic) => {
    if (topic === null || topic === INBOX_TOPIC) looks.wake()
  })

  return {
    check() {
      const late = isoAt(clock, -MAX_WAIT_MS)
      const isWell = open.every(
        ({ provider, state, count, since }) =>
          count === 0 ||
          // Anybody can send these: nobody has to look at them before the provider is set up.
          !deps.isConfigured(provider) ||
          (state === 'received' && (since === null || since >= late)),
      )
      return isWell ? 'ok' : 'degraded'
    },
    checkPaygate() {
      const isRefused = open.some((one) => one.isRefused) || run?.is_refused === true
      return isRefused || (run && run.failures >= MAX_FAILURES) ? 'degraded' : 'ok'
    },
    settled(settled) {
      for (const { read, state } of settled)
        if (read.of) outcomes.inc({ provider: read.of.claimed.provider, state })
      if (settled.length > 0) looks.wake()
    },
    stop() {
      unsubscribe()
      return looks.stop()
    },
  }
}
