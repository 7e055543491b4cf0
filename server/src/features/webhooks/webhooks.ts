/** Webhooks, put together: their operations, their upkeep, and the way out that all messages take. */
import type { Clock } from '../../lib/clock.ts'
import type { KeyRing } from '../../platform/crypto/index.ts'
import type { Scopes } from '../../platform/db/index.ts'
import type { Jobs } from '../../platform/jobs/index.ts'
import { openOutbound, type TargetPolicy } from '../../platform/net/index.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { deliveriesService } from './deliveries/deliveries.service.ts'
import { trialsService } from './deliveries/trials.service.ts'
import { type Delivery, type DeliveryDeps, startDelivery } from './delivery.ts'
import { registrationsService } from './registrations/registrations.service.ts'
import { openSecrets } from './registrations/secrets.ts'
import { replaysService } from './replays/replays.service.ts'
import { sender } from './sending/attempt.ts'
import { hastenWebhooks, keepWebhooksTidy, sweepWebhooks } from './webhooks.jobs.ts'
import type { WebhookServices } from './webhooks.routes.ts'

export interface WebhooksDeps {
  db: Scopes
  clock: Clock
  jobs: Jobs
  keyRing: KeyRing
  log: Logger
  /** Of the service, for the `user-agent` of messages. */
  version: string
  policy: TargetPolicy
  /** How long deliveries are kept (`WEBHOOK_RETENTION_DAYS`). */
  keepDays: number
}

export interface Webhooks {
  services: WebhookServices
  /** Starts to deliver in this process. */
  startDelivery(deps: Pick<DeliveryDeps, 'db' | 'changes' | 'mailer' | 'onAttempt'>): Delivery
  /** Cuts off the tests that are under way, which would hold up a stop. */
  stopTests(): void
  /** Cuts off all that is still being sent, and closes the connections. */
  close(): Promise<void>
}

/** Opens what every process has of webhooks. Registers their jobs, so it comes before these start. */
export function openWebhooks(deps: WebhooksDeps): Webhooks {
  const { policy } = deps
  const outbound = openOutbound({ policy })
  const send = sender({ ...deps, outbound })
  const hasten = hastenWebhooks(deps)
  const trials = trialsService({ ...deps, send, hasten })
  const replays = replaysService(deps)
  const registrations = registrationsService({
    ...deps,
    secrets: openSecrets(deps),
    sweep: sweepWebhooks(deps),
    hasten,
  })
  keepWebhooksTidy(deps, replays.tidy)
  return {
    services: { registrations, trials, deliveries: deliveriesService(deps), replays },
    startDelivery: (more) => startDelivery({ ...deps, ...more, send }),
    stopTests: trials.stop,
    close: outbound.close,
  }
}
