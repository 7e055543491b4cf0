/** What a try means: for its delivery, for the receiver, and for the webhook. Pure. */
import type { Attempt } from '../sending/attempt.ts'
import type { DueDelivery, Outcome } from './deliveries.store.ts'
import { afterFailure, afterSuccess, type Disabled, type Health } from './health.ts'
import { nextTry, type Random, retryAfterOf } from './schedule.ts'

export interface Judged {
  outcome: Outcome
  health: Health
  /** Why the webhook must be deactivated now, where it must. */
  disable?: Disabled
}

interface Try {
  delivery: DueDelivery
  attempt: Attempt
  health: Health
  /** When it ended. */
  now: number
  random: Random
}

export function judge({ delivery, attempt, health, now, random }: Try): Judged {
  if (attempt.error === null)
    return {
      outcome: { delivery, attempt, status: 'delivered', due_at: null },
      health: afterSuccess(health, now),
    }
  const asked = retryAfterOf(attempt.retry_after, now)
  const again = nextTry(now, delivery.tries + 1, asked, random)
  return {
    outcome: {
      delivery,
      attempt,
      status: again === undefined ? 'failed' : 'pending',
      due_at: again === undefined ? null : new Date(again).toISOString(),
    },
    ...afterFailure(health, attempt, now, random),
  }
}
