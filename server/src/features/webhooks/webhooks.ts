/** Webhooks, put together: their operations, their upkeep, and the delivery in the background. */
import type { Needs } from '../../core.ts'
import type { Feature } from '../../platform/feature.ts'
import { deliveriesService } from './deliveries/deliveries.service.ts'
import { testDeliveriesService } from './deliveries/test-deliveries.service.ts'
import { startDeliveryWorker } from './delivery-worker.ts'
import { CONSUMER } from './engine/fan-out.ts'
import { OUTGOING } from './events/outgoing.ts'
import { webhookFixes } from './fixes/fixes.ts'
import { attemptMetrics } from './metrics.ts'
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

/** Connections of the delivery: requests do not wait for deliveries, nor these for requests. */
const POOL_SIZE = 4
/** For messages that are under way at a stop. */
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

/** Registers the jobs of webhooks, so it comes before these start. */
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
  const services = { registrations, testDeliveries, deliveries: deliveriesService(deps), replays }
  core.readers.add(CONSUMER)
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
    purgeRows: purgeWebhooks,
    fixes: webhookFixes({
      clock: core.clock,
      enable: registrations.enable,
      waits: () => core.hold.since() !== null,
    }),
    stopping: testDeliveries.stop,
  }
}
