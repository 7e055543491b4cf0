/** Decides the new state of a notification from its reading. */
import { DAY, HOUR, MINUTE, SECOND } from '../../../lib/clock.ts'
import type { PaymentFacts, PaymentReading, UnusableReason } from '../payment-facts.ts'
import type { NotificationState } from '../payments.table.ts'
import type { Ledger, LedgerPage } from './ledger.ts'

const FIRST_PAUSE_MS = 5 * SECOND
const MAX_PAUSE_MS = 30 * MINUTE
/** The pause between retries while the provider rejects the credentials. It does not grow. */
const FOR_GOOD_PAUSE_MS = 5 * MINUTE
/** A notification of this age is no longer retried automatically, after at least `MIN_TRIES` attempts. */
const GIVE_UP_AFTER_MS = DAY
const MIN_TRIES = 5
/** From this age on, the refunded total is assumed to include a refund, even if the total has not increased. */
const REFUND_LAGS_FOR_MS = 6 * HOUR

export interface PaymentVerdict {
  state: NotificationState
  reason: UnusableReason | null
  /** The existing tenant of the reading. Null if there is none. */
  tenantId: number | null
  page: LedgerPage | null
  /** Milliseconds until the next retry; null if the notification is not retried. */
  againIn: number | null
  /** True if the retry period starts again, with all its attempts. */
  isRearmed: boolean
  /** True if the reading is confirmed to come from the provider. */
  isConfirmed: boolean
  provider_payment_id: string | null
}

interface Tried {
  tries: number
  /** Milliseconds since the arrival, or since a later rejection of the credentials, which restarts the retries. */
  age: number
}

const DONE = {
  tenantId: null,
  page: null,
  againIn: null,
  isRearmed: false,
  isConfirmed: false,
} as const
const UNNAMED = { ...DONE, provider_payment_id: null } as const

/** Decides on a reading and applies its facts to the ledger. @param living the undeleted tenants of the readings */
export function judged(
  reading: PaymentReading,
  tried: Tried,
  living: ReadonlySet<number>,
  ledger: Ledger,
): PaymentVerdict {
  if (reading.is === 'ignored') return { ...UNNAMED, state: 'ignored', reason: null }
  if (reading.is === 'failed') {
    const { reason, tenant_id } = reading
    const tenantId = tenant_id !== undefined && living.has(tenant_id) ? tenant_id : null
    return { ...UNNAMED, state: 'failed', reason, tenantId }
  }
  if (reading.is === 'later') {
    const { reason, forGood } = reading
    const waits = { ...UNNAMED, state: 'received', reason } as const
    if (forGood) return { ...waits, againIn: FOR_GOOD_PAUSE_MS, isRearmed: true }
    // The age alone does not end the retries, because the service may have been stopped for part of that time.
    if (isOver(tried, GIVE_UP_AFTER_MS)) return { ...UNNAMED, state: 'failed', reason }
    return { ...waits, againIn: pauseAfter(tried.tries) }
  }
  const verdict = ofPayment(reading.facts, living, ledger)
  const mayLag = verdict.state === 'superseded' && verdict.page?.status !== 'refunded'
  if (!reading.isGrowth || !mayLag || isOver(tried, REFUND_LAGS_FOR_MS)) return verdict
  const againIn = pauseAfter(tried.tries)
  return { ...UNNAMED, state: 'received', reason: 'refund_not_counted', againIn }
}

const isOver = ({ tries, age }: Tried, most: number) => age >= most && tries + 1 >= MIN_TRIES

function ofPayment(
  facts: PaymentFacts,
  living: ReadonlySet<number>,
  ledger: Ledger,
): PaymentVerdict {
  const { provider_payment_id, tenant_id } = facts
  const common = { ...DONE, isConfirmed: true, provider_payment_id }
  if (!living.has(tenant_id)) return { ...common, state: 'failed', reason: 'unknown_tenant' }
  const { is, page } = ledger.apply(facts)
  if (is === 'other_tenant') return { ...common, state: 'failed', reason: is }
  const tenantId = tenant_id
  if (is === 'applied' || is === 'superseded')
    return { ...common, state: is, reason: null, tenantId, page }
  return { ...common, state: 'failed', reason: is, tenantId, page }
}

function pauseAfter(tries: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** Math.min(tries, 20), MAX_PAUSE_MS)
}
