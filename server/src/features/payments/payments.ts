/** The payments feature: receives notices, processes them, and shows payments to operators. */
import type { Needs } from '../../core.ts'
import { MINUTE } from '../../lib/clock.ts'
import type { Feature } from '../../platform/feature/feature.ts'
import { applier } from './applying/apply.ts'
import { cardnet } from './cardnet/cardnet.ts'
import { watchInbox } from './health.ts'
import { startDrain } from './inbox/apply-waiting.ts'
import { openSeals } from './inbox/sealed.ts'
import { openArrivals } from './inbox/store-arrivals.ts'
import { startInboxWorker } from './inbox/worker.ts'
import { openPaygate } from './paygate/paygate.ts'
import { startReconciliation } from './paygate/reconciliation.ts'
import { PROVIDERS, type Provider } from './payment-facts.ts'
import { paymentOperations } from './payments.routes.ts'
import { PAYMENT_TABLES } from './payments.table.ts'
import type { Providers } from './provider.ts'
import { paymentRecordsService } from './records/records.service.ts'
import { paymentsAttention } from './upkeep/overview.ts'
import { keepInboxTidy } from './upkeep/payments.jobs.ts'
import { purgeSome } from './upkeep/upkeep.store.ts'

/** The size of the workers' separate connection pool. Workers and requests then do not wait for each other. */
const POOL_SIZE = 2
const STOP_MS = 3_000

type Core = Needs<
  'db' | 'clock' | 'jobs' | 'keyRing' | 'log' | 'changes' | 'metrics' | 'openPool',
  | 'CARDNET_WEBHOOK_SECRET'
  | 'PAYMENT_INBOX_DAYS'
  | 'PAYGATE_API_URL'
  | 'PAYGATE_SHOP_ID'
  | 'PAYGATE_SECRET_KEY'
  | 'PAYGATE_ALLOWED_NETWORKS'
  | 'PAYGATE_RECONCILE_MINUTES'
>

/** Opens the payments feature and registers its jobs. Call this before the jobs start. */
export function openPayments(core: Core): Feature {
  const { db, clock, changes, log, config } = core
  const seals = openSeals(core.keyRing)
  const paygate = openPaygate(config, { db, log })
  const providers: Providers = {
    cardnet: cardnet(config.CARDNET_WEBHOOK_SECRET, clock),
    paygate,
  }
  const arrivals = openArrivals({ db, clock, seals, log })
  const everyMs = config.PAYGATE_RECONCILE_MINUTES * MINUTE
  const { registry } = core.metrics
  const isAsked = paygate.api !== null
  const isReconciled = isAsked && everyMs > 0
  const isConfigured = (provider: Provider) => providers[provider].isConfigured
  const watch = watchInbox({ db, clock, changes, log, registry, isReconciled, isConfigured })
  const records = paymentRecordsService({ db, clock, seals, providers, log })
  keepInboxTidy({ db, clock, jobs: core.jobs, keepDays: config.PAYMENT_INBOX_DAYS, isAsked })
  return {
    name: 'payments',
    tables: PAYMENT_TABLES,
    operations: paymentOperations({ arrivals, ...providers, records }),
    checks: { payments: watch.check, ...(paygate.api ? { paygate: watch.checkPaygate } : {}) },
    attention: paymentsAttention(isConfigured),
    background() {
      const own = core.openPool(POOL_SIZE)
      const deps = { db: own, clock, changes, log, seals, onSettled: watch.settled }
      const apply = applier(deps)
      const workers = PROVIDERS.flatMap((provider) => {
        const { read, readHere, atOnce } = providers[provider]
        if (readHere) return startDrain({ ...deps, apply }, provider, readHere)
        return read ? startInboxWorker({ ...deps, apply }, { provider, read, atOnce }) : []
      })
      const take = (notice: Buffer) => arrivals.take(paygate.judge(notice, []))
      const reconciliation =
        paygate.api && everyMs > 0
          ? [startReconciliation({ ...deps, apply, take, api: paygate.api, everyMs })]
          : []
      const stopped = () =>
        Promise.all([
          ...workers.map((worker) => worker.stop(STOP_MS)),
          ...reconciliation.map((each) => each.stop()),
        ])
      return {
        async idle() {
          // Waits for reconciliation first, because it stores notices, which the workers apply afterwards.
          for (const each of reconciliation) await each.idle()
          await Promise.all(workers.map((worker) => worker.idle()))
        },
        stop: () => stopped().finally(own.close),
      }
    },
    purgeRows: purgeSome,
    stopping: watch.stop,
    // Stops the watch here as well, because `stopping` is not called if the service fails to start.
    close: () => Promise.all([watch.stop(), arrivals.stop(STOP_MS), paygate.close()]),
  }
}
