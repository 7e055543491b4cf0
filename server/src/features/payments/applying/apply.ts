/** Applies readings (interpreted notifications) to payments, the journal and the inbox in one transaction. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { appendAll, journalEntry, SYSTEM } from '../../../platform/journal/index.ts'
import {
  type Claimed,
  lockClaimed,
  type NotificationOutcome,
  settleNotifications,
} from '../inbox/claims.store.ts'
import type { Seals, SentNotification } from '../inbox/sealed.ts'
import { exponentOf } from '../money.ts'
import type { PaymentReading, UnusableReason } from '../payment-facts.ts'
import type { NotificationState } from '../payments.table.ts'
import { type Ledger, type LedgerPage, openLedger } from './ledger.ts'
import { insertPayments, livingTenants, lockPayments, movePayments } from './payments.store.ts'
import { judged, type PaymentVerdict } from './verdicts.ts'

/** A reading with its notification. `of` is null for a payment that was fetched without a notification. */
export interface Read {
  reading: PaymentReading
  of: ReadOf | null
}

interface ReadOf {
  claimed: Claimed
  /** The decrypted notification; null if it cannot be decrypted. */
  sent: SentNotification | null
  /** True if the notification arrived again after it was claimed. */
  isRearmed?: boolean
}

export interface Settled {
  read: Read
  /** The new state of the notification. In the state `received` it is retried. */
  state: NotificationState
  reason: UnusableReason | null
}

export interface ApplyDeps {
  db: Scopes
  clock: Clock
  seals: Seals
}

/** Applies readings and returns the results. Omits notifications whose lease now belongs to another worker. */
export type Apply = (reads: readonly Read[]) => Promise<Settled[]>

export function applier(deps: ApplyDeps): Apply {
  const applyIn = applierIn(deps)
  return (reads) =>
    deps.db.acrossTenants(async (tx) => applyIn(tx, await lockStillClaimed(tx, reads)))
}

/** Applies readings like `Apply`, for notifications that the transaction has already locked. */
export type ApplyIn = (tx: TenantTx, locked: readonly Read[]) => Promise<Settled[]>

export function applierIn({ clock, seals }: Omit<ApplyDeps, 'db'>): ApplyIn {
  return async (tx, locked) => {
    const facts = locked.flatMap(({ reading }) => (reading.is === 'payment' ? reading.facts : []))
    const tenants = locked.flatMap(({ reading }) => tenantOf(reading) ?? [])
    const [known, living] = await Promise.all([
      lockPayments(
        tx,
        distinct(facts, (fact) => `${fact.provider} ${fact.provider_payment_id}`),
      ),
      livingTenants(tx, [...new Set(tenants)]),
    ])
    const ledger = openLedger(known)
    const verdicts = locked.map((read) => {
      const { tries = 0, armed_at } = read.of?.claimed ?? {}
      const age = armed_at === undefined ? 0 : clock.now() - Date.parse(armed_at)
      return { read, verdict: judged(read.reading, { tries, age }, living, ledger) }
    })
    await writeLedger(tx, ledger, isoAt(clock))
    const outcomes: NotificationOutcome[] = []
    const settled: Settled[] = []
    for (const { read, verdict } of verdicts) {
      const outcome = read.of && (await outcomeOf(tx, seals, clock, read.of, verdict))
      if (outcome) outcomes.push(outcome)
      const { state, reason } = outcome ?? (isLeftAlone(verdict) ? LEFT : verdict)
      settled.push({ read, state, reason })
    }
    if (outcomes.length > 0) settleNotifications(tx, outcomes)
    return settled
  }
}

async function lockStillClaimed(tx: TenantTx, reads: readonly Read[]): Promise<Read[]> {
  const claimed = reads.flatMap((read) => read.of?.claimed ?? [])
  const locked = claimed.length > 0 ? await lockClaimed(tx, claimed) : new Map<number, string>()
  return reads.flatMap((read) => {
    if (read.of === null) return read
    const armedAt = locked.get(read.of.claimed.id)
    if (armedAt === undefined) return []
    return { ...read, of: { ...read.of, isRearmed: armedAt !== read.of.claimed.armed_at } }
  })
}

function tenantOf(reading: PaymentReading): number | undefined {
  if (reading.is === 'payment') return reading.facts.tenant_id
  return reading.is === 'failed' ? reading.tenant_id : undefined
}

function distinct<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  return [...new Map(items.map((item) => [keyOf(item), item])).values()]
}

/** Writes the changed payments of the ledger, and their journal entries. */
async function writeLedger(tx: TenantTx, ledger: Ledger, now: string): Promise<void> {
  const moved = ledger.pages().filter(({ isMoved }) => isMoved)
  const fresh = moved.filter(({ id }) => id === null)
  if (fresh.length > 0) {
    const rows = fresh.map((page) => ({ ...page, currency_exponent: exponentOf(page.currency) }))
    const added = await insertPayments(tx, rows, now)
    for (const page of fresh) page.id = added.find((row) => isSame(row, page))?.id ?? null
  }
  const old = moved.filter((page) => page.id !== null && !fresh.includes(page))
  if (old.length > 0)
    movePayments(
      tx,
      old.map((page) => ({
        ...page,
        id: page.id as number,
        isVisible: page.ledgerEntries.length > 0,
      })),
      now,
    )
  const entries = moved.flatMap(({ id, tenant_id, ledgerEntries }) =>
    ledgerEntries.flatMap(({ action, changes }) =>
      id === null ? [] : { ...journalEntry(action, 'payment', { id, tenant_id }), changes },
    ),
  )
  appendAll(tx, SYSTEM, entries)
}

const isSame = (
  one: Pick<LedgerPage, 'provider' | 'provider_payment_id'>,
  other: Pick<LedgerPage, 'provider' | 'provider_payment_id'>,
) => one.provider === other.provider && one.provider_payment_id === other.provider_payment_id

/** Returns whether another node has just inserted the payment. This transaction then did not write it. */
const isLeftAlone = ({ page }: PaymentVerdict) => page !== null && page.id === null

const LEFT = { state: 'received', reason: null } as const

async function outcomeOf(
  tx: TenantTx,
  seals: Seals,
  clock: Clock,
  { claimed, sent, isRearmed = false }: ReadOf,
  verdict: PaymentVerdict,
): Promise<NotificationOutcome> {
  const { id, seal_id, tries, attempts } = claimed
  const common = { id, attempts, tries: tries + 1, armed_at: null, sealed: null, payment_id: null }
  const now = isoAt(clock)
  // If the notification arrived again after the provider was queried, the provider's response may be outdated.
  const isOutdated = isRearmed && !verdict.isConfirmed && verdict.state !== 'ignored'
  // The notification is due again immediately, because a retry sees newer data.
  if (isOutdated || isLeftAlone(verdict))
    return {
      ...common,
      tries: isOutdated ? 0 : common.tries,
      tenant_id: claimed.tenant_id,
      ...LEFT,
      provider_payment_id: null,
      due_at: now,
      verified_at: null,
      processed_at: null,
    }
  // Prefers the tenant of this reading. The provider may have corrected the tenant since an earlier attempt.
  const tenant_id = verdict.tenantId ?? claimed.tenant_id
  const hasNewTenant = tenant_id !== null && tenant_id !== claimed.tenant_id
  return {
    ...common,
    tenant_id,
    sealed: sent && hasNewTenant ? await seals.seal(tx, sent, { seal_id, tenant_id }) : null,
    state: verdict.state,
    reason: verdict.reason,
    ...(verdict.isRearmed ? { tries: 0, armed_at: now } : {}),
    payment_id: verdict.page?.id ?? null,
    provider_payment_id: verdict.provider_payment_id,
    due_at: verdict.againIn === null ? null : isoAt(clock, verdict.againIn),
    verified_at: verdict.isConfirmed ? now : null,
    processed_at: verdict.againIn === null ? now : null,
  }
}
