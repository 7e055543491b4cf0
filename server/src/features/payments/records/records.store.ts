/** SQL of the payments and notifications that operators see. */
import { sql } from 'kysely'
import type { Found, PageRequest } from '../../../lib/page.ts'
import type { Span } from '../../../lib/span.ts'
import { ofScope, readPage, type Scoped, type TenantTx } from '../../../platform/db/index.ts'
import type { SealedFields, SealPlace } from '../inbox/sealed.ts'
import { PROVIDERS, type Provider, type UnusableReason } from '../payment-facts.ts'
import type {
  NotificationQuery,
  Payment,
  PaymentNotification,
  PaymentQuery,
} from '../payments.schema.ts'
import '../payments.table.ts'

const PAYMENT = [
  'id',
  'tenant_id',
  'provider',
  'provider_payment_id',
  'status',
  'amount',
  'amount_refunded',
  'currency',
  'currency_exponent',
  'test',
  'created_at',
  'updated_at',
] as const

const NOTIFICATION = [
  'id',
  'provider',
  'event_key',
  'type',
  'provider_payment_id',
  'payment_id',
  'tenant_id',
  'state',
  'reason',
  'attempts',
  'times_received',
  'received_at',
  'processed_at',
  'due_at as next_attempt_at',
] as const

/** The maximum number of notifications shown with a payment. */
const MAX_SHOWN = 100

/** Deletes the unverified notifications of a provider, or of all providers. Returns how many were deleted. */
export async function discardUnverified(
  tx: TenantTx,
  provider: Provider | undefined,
): Promise<number> {
  const all = tx.db.deleteFrom('payment_notifications').where('state', '=', 'unverified')
  const { numDeletedRows } = await (provider
    ? all.where('provider', '=', provider)
    : all
  ).executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

export function listPayments(
  tx: TenantTx,
  asked: PageRequest<PaymentQuery>,
  span: Span,
): Promise<Found<Payment>> {
  const { query } = asked
  return readPage(tx, asked, payments, {
    filter: (all) => matching(all, query, span),
    countedIn: [],
  })
}

function matching(all: ReturnType<typeof payments>, query: PaymentQuery, span: Span) {
  let filtered = all
  if (query.provider) filtered = filtered.where('provider', '=', query.provider)
  if (query.status) filtered = filtered.where('status', '=', query.status)
  if (query.currency !== undefined)
    filtered = filtered.where('currency', '=', query.currency.toUpperCase())
  if (query.provider_payment_id !== undefined) {
    filtered = filtered.where('provider_payment_id', '=', query.provider_payment_id)
    // The condition is true for every payment. With it, PostgreSQL can use the index that starts with the provider.
    if (!query.provider) filtered = filtered.where('provider', 'in', PROVIDERS)
  }
  if (span.from) filtered = filtered.where('created_at', '>=', span.from)
  if (span.until) filtered = filtered.where('created_at', '<', span.until)
  return filtered
}

export function findPayment(tx: TenantTx, id: number): Promise<Payment | undefined> {
  return payments(tx).where('id', '=', id).executeTakeFirst()
}

function payments(scope: Scoped) {
  return scope.db.selectFrom('payments').select(PAYMENT).where(ofScope(scope, 'tenant_id'))
}

export function listNotifications(
  tx: TenantTx,
  asked: PageRequest<NotificationQuery>,
  span: Span,
): Promise<Found<PaymentNotification>> {
  const { query } = asked
  return readPage(tx, asked, notifications, {
    filter(all) {
      let filtered = all
      if (query.provider) filtered = filtered.where('provider', '=', query.provider)
      if (query.state) filtered = filtered.where('state', '=', query.state)
      if (query.reason) filtered = filtered.where('reason', '=', query.reason)
      if (span.from) filtered = filtered.where('received_at', '>=', span.from)
      if (span.until) filtered = filtered.where('received_at', '<', span.until)
      return filtered
    },
    countedIn: [],
  })
}

export function notificationsOf(tx: TenantTx, payment: Payment): Promise<PaymentNotification[]> {
  return notifications(tx)
    .where('tenant_id', '=', payment.tenant_id)
    .where('payment_id', '=', payment.id)
    .orderBy('id', 'desc')
    .limit(MAX_SHOWN)
    .execute()
}

export function findNotification(
  tx: TenantTx,
  id: number,
): Promise<PaymentNotification | undefined> {
  return notifications(tx).where('id', '=', id).executeTakeFirst()
}

/** Selects the notifications in scope. Notifications without a verified tenant are visible only across tenants. */
function notifications(scope: Scoped) {
  const all = scope.db.selectFrom('payment_notifications').select(NOTIFICATION)
  if (scope.tenantId !== null) return all.where(ofScope(scope, 'tenant_id'))
  return all.where((or) => or.or([or('tenant_id', 'is', null), ofScope(scope, 'tenant_id')]))
}

export interface KeptNotification extends SealPlace, SealedFields {
  id: number
  provider: PaymentNotification['provider']
  state: PaymentNotification['state']
  received_at: string
  verified_at: string | null
}

/** Returns the stored row of a notification. @param lock whether to lock the row until the transaction ends */
export function findKept(
  tx: TenantTx,
  id: number,
  lock: boolean,
): Promise<KeptNotification | undefined> {
  const kept = tx.db
    .selectFrom('payment_notifications')
    .select([
      'id',
      'tenant_id',
      'provider',
      'state',
      'received_at',
      'verified_at',
      'seal_id',
      'sealed_body',
      'sealed_signature',
    ])
    .where('id', '=', id)
  return (lock ? kept.forUpdate() : kept).executeTakeFirst()
}

/**
 * Makes a notification due immediately, with its full number of retries. With `takesKey` it also takes the key of its
 * event, unless a visible notification holds the key. Both are then applied, and the second one changes nothing.
 * @throws a conflict if a notification that the transaction cannot see holds the key
 */
export async function retryNotification(
  tx: TenantTx,
  id: number,
  { now, verified_at, takesKey }: { now: string; verified_at: string | null; takesKey: boolean },
): Promise<void> {
  await sql`update payment_notifications n
    set state = 'received', reason = null, due_at = least(${now}::timestamptz, now()), armed_at = ${now}::timestamptz,
      waiting_since = ${now}::timestamptz, tries = 0, processed_at = null, verified_at = ${verified_at}::timestamptz,
      holds_key = n.holds_key or ${takesKey}::boolean and not exists (select from payment_notifications o
        where o.provider = n.provider and o.event_key = n.event_key and o.holds_key)
    where n.id = ${id}`.execute(tx.db)
}

/** Records why a manual retry failed. Only the state `received` becomes `failed`. */
export async function giveUpNotification(
  tx: TenantTx,
  id: number,
  { now, reason }: { now: string; reason: UnusableReason },
): Promise<void> {
  await sql`update payment_notifications
    set state = case state when 'received' then 'failed' else state end, reason = ${reason},
      due_at = null, leased_until = null, waiting_since = null,
      processed_at = case state when 'received' then ${now}::timestamptz else processed_at end
    where id = ${id}`.execute(tx.db)
}
