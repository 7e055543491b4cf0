/** The delivery worker: a journal consumer that creates deliveries, and an engine that sends them. */
import type { Time } from '../../lib/time.ts'
import type { KeyRing } from '../../platform/crypto/index.ts'
import type { Changes, Scopes } from '../../platform/db/index.ts'
import type { Mailer } from '../../platform/mail/index.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { disabler } from './engine/disable.ts'
import { type EngineDeps, startEngine } from './engine/engine.ts'
import { followWebhookEvents } from './engine/fan-out.ts'
import type { Tuning } from './engine/tuning.ts'
import type { SendMessage } from './sending/attempt.ts'

export interface DeliveryWorkerDeps {
  /** A separate connection pool, so that requests and deliveries do not wait for each other. */
  db: Scopes
  changes: Changes
  clock: Time
  keyRing: KeyRing
  mailer: Mailer
  send: SendMessage
  log: Logger
  /** The number of days for which deliveries are stored (`WEBHOOK_RETENTION_DAYS`). */
  keepDays: number
  onAttempt?: EngineDeps['onAttempt']
  tuning?: Partial<Tuning>
}

export interface DeliveryWorker {
  /** Resolves when every event that existed at the time of the call is delivered or waits for a retry. */
  idle(): Promise<void>
  /** Stops shortly after `patienceMs` at the latest. Another process resends messages that were in flight. */
  stop(patienceMs: number): Promise<void>
}

/** Starts delivering messages in this process. Any number of processes can deliver in parallel. */
export function startDeliveryWorker(deps: DeliveryWorkerDeps): DeliveryWorker {
  const engine = startEngine({ ...deps, disable: disabler(deps) })
  const consumer = followWebhookEvents(deps)
  return {
    async idle() {
      await consumer.idle()
      await engine.idle()
    },
    async stop(patienceMs) {
      // Stops both at the same time, so that the engine sends nothing while the consumer finishes its batch.
      await Promise.all([consumer.stop(), engine.stop(patienceMs)])
    },
  }
}
