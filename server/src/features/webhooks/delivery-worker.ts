/** The delivery of events, put together: the consumer of the journal and the engine that sends. */
import type { Time } from '../../lib/time.ts'
import type { KeyRing } from '../../platform/crypto/index.ts'
import type { Changes, Scopes } from '../../platform/db/index.ts'
import type { Mailer } from '../../platform/mail/index.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { disabler } from './engine/disable.ts'
import { type EngineDeps, startEngine } from './engine/engine.ts'
import { followEvents } from './engine/fan-out.ts'
import type { Tuning } from './engine/tuning.ts'
import type { Send } from './sending/attempt.ts'

export interface DeliveryWorkerDeps {
  /** Connections of its own: requests do not wait for deliveries, nor these for requests. */
  db: Scopes
  changes: Changes
  clock: Time
  keyRing: KeyRing
  mailer: Mailer
  send: Send
  log: Logger
  /** How long deliveries are kept (`WEBHOOK_RETENTION_DAYS`). */
  keepDays: number
  onAttempt?: EngineDeps['onAttempt']
  tuning?: Partial<Tuning>
}

export interface DeliveryWorker {
  /** Resolves when every event that was there at the call is delivered, or waits for a retry. */
  idle(): Promise<void>
  /** Ends within `patienceMs` and a moment; what is under way then is sent again by another process. */
  stop(patienceMs: number): Promise<void>
}

/** Starts to deliver, in this process beside any number of others. */
export function startDeliveryWorker(deps: DeliveryWorkerDeps): DeliveryWorker {
  const engine = startEngine({ ...deps, disable: disabler(deps) })
  const consumer = followEvents(deps)
  return {
    async idle() {
      await consumer.idle()
      await engine.idle()
    },
    async stop(patienceMs) {
      // Together: while a batch of events is still read, nothing more is sent.
      await Promise.all([consumer.stop(), engine.stop(patienceMs)])
    },
  }
}
