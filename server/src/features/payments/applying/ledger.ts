/** The payments of one transaction, as they stand and as they become by what is applied. */
import type { PaymentFacts, Reason } from '../payment-facts.ts'
import { moved, type PaymentAction, type PaymentState } from '../states.ts'
import type { KnownPayment, PaymentName } from './payments.store.ts'

/** What the journal says of a payment, and so webhooks and the messenger; nothing else of it is told. */
const TOLD = [
  'provider',
  'provider_payment_id',
  'status',
  'amount',
  'amount_refunded',
  'currency',
] as const

type Told = PaymentName & PaymentState & { test: boolean }

interface Telling {
  action: PaymentAction
  changes: { before: object | null; after: object }
}

/** A payment that this transaction is about. */
export interface Page extends PaymentName, PaymentState {
  /** Null until it is inserted. */
  id: number | null
  tenant_id: number
  test: boolean
  tellings: Telling[]
  /** Whether it is another than the database has. */
  isMoved: boolean
}

export interface Ledger {
  /** Applies the facts. Answers what has become of them, and the payment that they are about. */
  apply(facts: PaymentFacts): { is: 'applied' | 'superseded' | Reason; page: Page | null }
  pages(): Page[]
}

const nameOf = ({ provider, provider_payment_id }: PaymentName) =>
  `${provider} ${provider_payment_id}`

const toldOf = (payment: Told) => ({
  ...Object.fromEntries(TOLD.map((field) => [field, payment[field]])),
  ...(payment.test ? { test: true } : {}),
})

export function openLedger(known: readonly KnownPayment[]): Ledger {
  const pages = new Map<string, Page>()
  for (const payment of known)
    pages.set(nameOf(payment), { ...payment, tellings: [], isMoved: false })

  return {
    apply(facts) {
      const page = pages.get(nameOf(facts)) ?? null
      if (page && page.tenant_id !== facts.tenant_id) return { is: 'other_tenant', page: null }
      const move = moved(page, facts)
      if (move === null) return { is: 'superseded', page }
      if ('refused' in move) return { is: move.refused, page }
      const { provider, provider_payment_id, tenant_id, test } = facts
      const before = page && toldOf(page)
      const now = page ?? { id: null, provider, provider_payment_id, tenant_id, test, tellings: [] }
      const next: Page = Object.assign(now, move.to, { isMoved: true })
      pages.set(nameOf(next), next)
      if (move.action === null) return { is: 'superseded', page: next }
      next.tellings.push({ action: move.action, changes: { before, after: toldOf(next) } })
      return { is: 'applied', page: next }
    },
    pages: () => [...pages.values()],
  }
}
