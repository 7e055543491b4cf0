/** Watches what of the inbox somebody may have to look at: for the health report and the metrics. */
import { Counter, Gauge, type Registry } from 'prom-client'
import { type Clock, isoAt, MINUTE, SECOND } from '../../../lib/clock.ts'
import { poller } from '../../../lib/poller.ts'
import type { Changes, Scopes } from '../../../platform/db/index.ts'
import type { State } from '../../../platform/feature.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Settled } from '../applying/apply.ts'
import { INBOX_TOPIC } from '../inbox/topics.ts'
import { PROVIDERS } from '../payment-facts.ts'
import { countOpen, OPEN_STATES, type OpenCount } from './upkeep.store.ts'

/** What waits for longer is not just busy. */
const MAX_WAIT_MS = 5 * MINUTE
const POLL_MS = 30 * SECOND
const MIN_GAP_MS = SECOND

export interface Watch {
  check(): State
  /** Counts what has become of notifications. */
  settled(settled: readonly Settled[]): void
  stop(): Promise<void>
}

export interface WatchDeps {
  db: Scopes
  clock: Clock
  changes: Changes
  log: Logger
  registry: Registry
}

export function watchInbox({ db, clock, changes, log, registry }: WatchDeps): Watch {
  const waiting = new Gauge({
    name: 'wardkeep_payment_notifications',
    help: 'Notifications of payment providers that wait, are unverified or have failed',
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

  const look = async () => {
    open = await db.acrossTenants(countOpen, 'read')
    for (const provider of PROVIDERS)
      for (const state of OPEN_STATES) {
        const found = open.find((row) => row.provider === provider && row.state === state)
        waiting.set({ provider, state }, found?.count ?? 0)
      }
    return false
  }
  const looks = poller(look, {
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
        ({ state, since }) => state === 'received' && (since === null || since >= late),
      )
      return isWell ? 'ok' : 'degraded'
    },
    settled(settled) {
      for (const labels of settled) outcomes.inc({ ...labels })
      if (settled.length > 0) looks.wake()
    },
    stop() {
      unsubscribe()
      return looks.stop()
    },
  }
}
