/** What becomes of a notification by what was read of it. */
import { DAY, HOUR, MINUTE, SECOND } from '../../../lib/clock.ts'
import type { PaymentFacts, Reading, Reason } from '../payment-facts.ts'
import type { NotificationState } from '../payments.table.ts'
import type { Ledger, Page } from './ledger.ts'

const FIRST_PAUSE_MS = 5 * SECOND
const MAX_PAUSE_MS = 30 * MINUTE
/** Where it is not the notification's fault: nothing is gained by waiting longer. */
const FOR_GOOD_PAUSE_MS = 5 * MINUTE
/** After that nobody asks any more by themselves, if they have asked so often. */
const GIVE_UP_AFTER_MS = DAY
const MIN_TRIES = 5
/** After that a refund that its payment does not grow by is taken for one that it knew before. */
const REFUND_LAGS_FOR_MS = 6 * HOUR

export interface Verdict {
  state: NotificationState
  reason: Reason | null
  /** The tenant that is proven by it. */
  tenantId: number | null
  page: Page | null
  /** Milliseconds until it is tried again; null for never. */
  againIn: number | null
  /** Whether its day begins anew, with all its tries. */
  isRearmed: boolean
  /** Whether the provider is proven to have said so. */
  isConfirmed: boolean
  provider_payment_id: string | null
}

/** How far a notification has come before. */
interface Tried {
  tries: number
  /** Milliseconds since it was last armed: since it came, or the provider last refused the credentials. */
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

/** @param living the tenants that are there and not deleted, of those that are read of */
export function judged(
  reading: Reading,
  tried: Tried,
  living: ReadonlySet<number>,
  ledger: Ledger,
): Verdict {
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
    // Time in which nobody could ask does not count alone.
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

function ofPayment(facts: PaymentFacts, living: ReadonlySet<number>, ledger: Ledger): Verdict {
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
