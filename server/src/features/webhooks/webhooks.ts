/** Assembles the webhooks feature: its operations, its upkeep, and its background delivery. */
import type { Needs } from '../../core.ts'
import type { Feature } from '../../platform/feature/feature.ts'
import { deliveriesService } from './deliveries/deliveries.service.ts'
import { testDeliveriesService } from './deliveries/test-deliveries.service.ts'
import { startDeliveryWorker } from './delivery-worker.ts'
import { FAN_OUT_CONSUMER } from './engine/fan-out.ts'
import { OUTGOING } from './events/outgoing.ts'
import { disabledFix } from './fixes/fixes.ts'
import { attemptMetrics } from './metrics.ts'
import { WEBHOOKS_ATTENTION, WEBHOOKS_FIGURES } from './overview/overview.ts'
import { webhookFigures } from './overview/stats.service.ts'
import { probesReceivers } from './probes/probes.jobs.ts'
import { registrationsService } from './registrations/registrations.service.ts'
import { openSecrets } from './registrations/secrets.ts'
import { replaysService } from './replays/replays.service.ts'
import { sender } from './sending/attempt.ts'
import { daysUpkeep } from './upkeep/days.ts'
import { deletesDeliveries, keepWebhooksTidy, purgeWebhooks, retriesNow } from './webhooks.jobs.ts'
import { WEBHOOK_COLUMNS, WEBHOOK_STEPS } from './webhooks.restore.ts'
import { type WebhookServices, webhookOperations } from './webhooks.routes.ts'
import { WEBHOOK_TABLES } from './webhooks.table.ts'

/** The worker's own database connections, so that the worker and requests do not wait for each other. */
const POOL_SIZE = 4
/** The time limit at shutdown for messages in flight, in milliseconds. */
const STOP_MS = 4_000

type Core = Needs<
  | 'db'
  | 'clock'
  | 'jobs'
  | 'keyRing'
  | 'log'
  | 'version'
  | 'changes'
  | 'readers'
  | 'hold'
  | 'mailer'
  | 'metrics'
  | 'targets'
  | 'outbound'
  | 'openPool',
  'WEBHOOK_RETENTION_DAYS'
>

/** Opens the feature and registers its jobs. Call this before the jobs start. */
export function openWebhooks(core: Core): Feature & { services: WebhookServices } {
  const { db } = core
  const deps = { ...core, policy: core.targets, keepDays: core.config.WEBHOOK_RETENTION_DAYS }
  const send = sender(deps)
  const retryNow = retriesNow(deps)
  const testDeliveries = testDeliveriesService({ ...deps, send, retryNow })
  const replays = replaysService(deps)
  const registrations = registrationsService({
    ...deps,
    secrets: openSecrets(deps),
    deleteDeliveries: deletesDeliveries(deps),
    retryNow,
  })
  keepWebhooksTidy(deps, replays.tidy)
  probesReceivers({ ...deps, probe: testDeliveries.probe })
  const services = {
    registrations,
    testDeliveries,
    deliveries: deliveriesService(deps),
    replays,
    figures: webhookFigures(deps),
  }
  core.readers.add(FAN_OUT_CONSUMER)
  const onAttempt = attemptMetrics(core.metrics.registry)
  return {
    name: 'webhooks',
    tables: WEBHOOK_TABLES,
    columns: WEBHOOK_COLUMNS,
    restoring: WEBHOOK_STEPS,
    services,
    operations: webhookOperations(services),
    outgoing: OUTGOING,
    upkeep: daysUpkeep(db),
    goesOut: true,
    background() {
      const own = core.openPool(POOL_SIZE)
      const delivery = startDeliveryWorker({ ...deps, db: own, send, onAttempt })
      return {
        idle: delivery.idle,
        stop: () => delivery.stop(STOP_MS).finally(own.close),
      }
    },
    conflicts: { webhook_replays__one_running: 'replay_running' },
    jobs: [replays.jobs],
    attention: WEBHOOKS_ATTENTION,
    figures: WEBHOOKS_FIGURES,
    purgeRows: purgeWebhooks,
    fixes: [disabledFix(registrations.enable)],
    stopping: testDeliveries.stop,
  }
}
