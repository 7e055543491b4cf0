/** The payments of one transaction, before and after the reported facts are applied. */
import type { PaymentFacts, UnusableReason } from '../payment-facts.ts'
import { moved, type PaymentAction, type PaymentState } from '../states.ts'
import type { KnownPayment, PaymentName } from './payments.store.ts'

/** The only payment fields that the journal records, and therefore the only ones sent to webhooks and messengers. */
const JOURNALED = [
  'provider',
  'provider_payment_id',
  'status',
  'amount',
  'amount_refunded',
  'currency',
] as const

type JournaledPayment = PaymentName & PaymentState & { test: boolean }

interface LedgerEntry {
  action: PaymentAction
  changes: { before: object | null; after: object }
}

/** A payment that this transaction reads or changes. */
export interface LedgerPage extends PaymentName, PaymentState {
  /** The id of the payment. Null until the payment is inserted. */
  id: number | null
  tenant_id: number
  test: boolean
  ledgerEntries: LedgerEntry[]
  /** True if the payment differs from its stored row. */
  isMoved: boolean
}

export interface Ledger {
  /** Applies facts to their payment. Returns the result and the payment. The payment is null if it does not exist. */
  apply(facts: PaymentFacts): {
    is: 'applied' | 'superseded' | UnusableReason
    page: LedgerPage | null
  }
  pages(): LedgerPage[]
}

const nameOf = ({ provider, provider_payment_id }: PaymentName) =>
  `${provider} ${provider_payment_id}`

const journaledOf = (payment: JournaledPayment) => ({
  ...Object.fromEntries(JOURNALED.map((field) => [field, payment[field]])),
  ...(payment.test ? { test: true } : {}),
})

export function openLedger(known: readonly KnownPayment[]): Ledger {
  const pages = new Map<string, LedgerPage>()
  for (const payment of known)
    pages.set(nameOf(payment), { ...payment, ledgerEntries: [], isMoved: false })

  return {
    apply(facts) {
      const page = pages.get(nameOf(facts)) ?? null
      if (page && page.tenant_id !== facts.tenant_id) return { is: 'other_tenant', page: null }
      const move = moved(page, facts)
      if (move === null) return { is: 'superseded', page }
      if ('refused' in move) return { is: move.refused, page }
      const { provider, provider_payment_id, tenant_id, test } = facts
      const before = page && journaledOf(page)
      const now = page ?? {
        id: null,
        provider,
        provider_payment_id,
        tenant_id,
        test,
        ledgerEntries: [],
      }
      const next: LedgerPage = Object.assign(now, move.to, { isMoved: true })
      pages.set(nameOf(next), next)
      if (move.action === null) return { is: 'superseded', page: next }
      next.ledgerEntries.push({
        action: move.action,
        changes: { before, after: journaledOf(next) },
      })
      return { is: 'applied', page: next }
    },
    pages: () => [...pages.values()],
  }
}
