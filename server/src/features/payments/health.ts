/** Watches the payment inbox for problems that need an operator, for the health report and the metrics. */
import { Counter, Gauge, type Registry } from 'prom-client'
import { isoAt, MINUTE, SECOND } from '../../lib/clock.ts'
import { poller } from '../../lib/poller.ts'
import type { Time } from '../../lib/time.ts'
import type { Changes, Scopes } from '../../platform/db/index.ts'
import type { ComponentHealth } from '../../platform/feature/feature.ts'
import type { Logger } from '../../platform/observe/log.ts'
import type { Settled } from './applying/apply.ts'
import type { Provider } from './payment-facts.ts'
import { INBOX_TOPIC } from './payments.table.ts'
import { countOpen, lastRun, type OpenCount } from './upkeep/upkeep.store.ts'

/** The maximum time that a notification waits under normal load. */
const MAX_WAIT_MS = 5 * MINUTE
/** The number of consecutive failed reconciliations that counts as a lasting problem. */
const MAX_FAILURES = 3
/** The maximum of each count. It equals the maximum number of unverified notifications of a provider. */
const MAX_COUNTED = 10_000
const RUNBOOK = 'payments.md'
const POLL_MS = 5 * SECOND
const MIN_GAP_MS = SECOND

export interface PaymentHealth {
  /** Checks whether notifications are stuck in the inbox. */
  check(): ComponentHealth
  /** Checks whether paygate's API accepts requests, based on the recorded requests of all nodes. */
  checkPaygate(): ComponentHealth
  /** Counts the outcomes of processed notifications in the metrics. */
  settled(settled: readonly Settled[]): void
  stop(): Promise<void>
}

export interface PaymentHealthDeps {
  db: Scopes
  clock: Time
  changes: Changes
  log: Logger
  registry: Registry
  /** True if payments are regularly reconciled with paygate's list of payments. */
  isReconciled: boolean
  isConfigured: (provider: Provider) => boolean
}

export function watchInbox(deps: PaymentHealthDeps): PaymentHealth {
  const { db, clock, changes, log, registry, isReconciled } = deps
  const waiting = new Gauge({
    name: 'wardkeep_payment_notifications',
    help: `Payment notifications that are waiting, unverified or failed, up to ${MAX_COUNTED}`,
    labelNames: ['provider', 'state'] as const,
    registers: [registry],
  })
  const outcomes = new Counter({
    name: 'wardkeep_payment_notifications_settled_total',
    help: 'Payment notifications processed, by outcome',
    labelNames: ['provider', 'state'] as const,
    registers: [registry],
  })
  let open: OpenCount[] = []
  let run: Awaited<ReturnType<typeof lastRun>>

  const refresh = async () => {
    const found = await db.acrossTenants(
      async (tx) => ({ open: await countOpen(tx, MAX_COUNTED), run: await lastRun(tx, 'paygate') }),
      'read',
    )
    open = found.open
    run = isReconciled ? found.run : undefined
    for (const { provider, state, count } of open) waiting.set({ provider, state }, count)
    return false
  }
  const polling = poller(refresh, {
    clock,
    pollMs: POLL_MS,
    minGapMs: MIN_GAP_MS,
    onError: (error, previous) => {
      if (!previous) log.warn({ err: error }, 'count of payment notifications failed')
    },
  })
  const unsubscribe = changes.subscribe((topic) => {
    if (topic === null || topic === INBOX_TOPIC) polling.wake()
  })

  return {
    check() {
      const late = isoAt(clock, -MAX_WAIT_MS)
      // Ignores providers that are not configured, because anyone can send notifications in their name.
      const counted = open.filter((one) => one.count > 0 && deps.isConfigured(one.provider))
      const stuck = counted.find(({ state }) => state !== 'received')
      if (stuck)
        return {
          state: 'degraded',
          reason: `Payment notifications from ${stuck.provider} ${stuck.state === 'failed' ? 'have failed' : 'are unverified'}.`,
          runbook: RUNBOOK,
        }
      const waits = counted.find(({ since }) => since !== null && since < late)
      if (!waits) return { state: 'ok' }
      const reason = `Payment notifications from ${waits.provider} have been waiting for more than five minutes.`
      return { state: 'degraded', reason, since: waits.since, runbook: RUNBOOK }
    },
    checkPaygate() {
      if (open.some((one) => one.isRefused) || run?.is_refused === true)
        return {
          state: 'degraded',
          reason:
            'The paygate API rejects the credentials. Check PAYGATE_SHOP_ID and PAYGATE_SECRET_KEY.',
          runbook: RUNBOOK,
        }
      return run && run.failures >= MAX_FAILURES
        ? {
            state: 'degraded',
            reason: 'The list of payments cannot be read from the paygate API.',
            runbook: RUNBOOK,
          }
        : { state: 'ok' }
    },
    settled(settled) {
      for (const { read, state } of settled)
        if (read.of) outcomes.inc({ provider: read.of.claimed.provider, state })
      if (settled.length > 0) polling.wake()
    },
    stop() {
      unsubscribe()
      return polling.stop()
    },
  }
}
