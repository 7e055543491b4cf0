/** Determines how an attempt changes its delivery, the circuit breaker and the webhook. Pure functions. */
import type { Attempt } from '../sending/attempt.ts'
import { afterFailure, afterSuccess, type Circuit, type DisableReason } from './circuit.ts'
import type { DeliveryOutcome, DueDelivery } from './deliveries.store.ts'
import { nextTry, type Random, retryAfterOf } from './schedule.ts'

export interface Classified {
  outcome: DeliveryOutcome
  circuit: Circuit
  /** The reason to deactivate the webhook now, if there is one. */
  disable?: DisableReason
}

interface Try {
  delivery: DueDelivery
  attempt: Attempt
  circuit: Circuit
  /** The end of the attempt, in milliseconds since the Unix epoch. */
  now: number
  random: Random
}

export function classifyAttempt({ delivery, attempt, circuit, now, random }: Try): Classified {
  if (attempt.error === null)
    return {
      outcome: { delivery, attempt, status: 'delivered', due_at: null },
      circuit: afterSuccess(circuit, now),
    }
  const asked = retryAfterOf(attempt.retry_after, now)
  const again = nextTry(now, delivery.retry_step + 1, asked, random)
  return {
    outcome: {
      delivery,
      attempt,
      status: again === undefined ? 'failed' : 'pending',
      due_at: again === undefined ? null : new Date(again).toISOString(),
    },
    ...afterFailure(circuit, attempt, now, random),
  }
}
