import { sql } from 'kysely'
import { statement, type TenantTx } from '../../../platform/db/index.ts'
import { PROVIDERS, type Provider } from '../payment-facts.ts'
import type { PaymentState, PaymentStatus } from '../states.ts'
import '../payments.table.ts'

/** The key of a payment: the provider, and the provider's id of the payment. */
export interface PaymentName {
  provider: Provider
  provider_payment_id: string
}

export interface KnownPayment extends PaymentName, PaymentState {
  id: number
  tenant_id: number
  status: PaymentStatus
  test: boolean
}

/** Locks and returns the existing payments with these keys, until the transaction ends. */
export async function lockPayments(
  tx: TenantTx,
  names: readonly PaymentName[],
): Promise<KnownPayment[]> {
  const found: KnownPayment[] = []
  for (const provider of PROVIDERS) {
    const ids = names.flatMap((name) =>
      name.provider === provider ? name.provider_payment_id : [],
    )
    if (ids.length > 0)
      found.push(...(await tx.sendFor<KnownPayment>(lockOf({ provider, ids })).rows))
  }
  return found
}

const lockOf = statement<{ provider: Provider; ids: string[] }>(
  (value) => sql`
    select id, tenant_id, provider, provider_payment_id, status, amount, amount_refunded, currency, test, said_at
    from payments
    where provider = ${value('provider')} and provider_payment_id = any(${value('ids')}::text[])
    order by id for no key update`,
)

/** Returns which of these tenants are not deleted. The tenants cannot be purged until the transaction ends. */
export async function livingTenants(tx: TenantTx, ids: readonly number[]): Promise<Set<number>> {
  const { rows } = await sql<{ id: number }>`
    select id from tenants where id = any(${ids}::bigint[]) and deleted_at is null
    order by id for key share`.execute(tx.db)
  return new Set(rows.map(({ id }) => id))
}

export type NewPayment = Omit<KnownPayment, 'id'> & { currency_exponent: number }

/** Inserts payments, except those that another transaction inserted first. Returns the ids of the inserted ones. */
export async function insertPayments(
  tx: TenantTx,
  payments: readonly NewPayment[],
  now: string,
): Promise<(PaymentName & { id: number })[]> {
  const column = <K extends keyof NewPayment>(name: K) => payments.map((payment) => payment[name])
  const { rows } = await sql<PaymentName & { id: number }>`
    insert into payments (tenant_id, provider, provider_payment_id, status, amount, amount_refunded,
      currency, currency_exponent, test, said_at, created_at, updated_at)
    select n.tenant_id, n.provider, n.provider_payment_id, n.status, n.amount, n.amount_refunded,
      n.currency, n.currency_exponent, n.test, n.said_at, ${now}::timestamptz, ${now}::timestamptz
    from unnest(${column('tenant_id')}::bigint[], ${column('provider')}::text[],
      ${column('provider_payment_id')}::text[], ${column('status')}::text[],
      ${column('amount')}::bigint[], ${column('amount_refunded')}::bigint[],
      ${column('currency')}::text[], ${column('currency_exponent')}::smallint[], ${column('test')}::boolean[],
      ${column('said_at')}::bigint[])
      as n(tenant_id, provider, provider_payment_id, status, amount, amount_refunded, currency,
        currency_exponent, test, said_at)
    order by 2, 3
    on conflict (provider, provider_payment_id) do nothing
    returning id, provider, provider_payment_id`.execute(tx.db)
  return rows
}

/** Updates locked payments. Sends the statement without waiting for its result; only the commit waits for it. */
export function movePayments(
  tx: TenantTx,
  payments: readonly (PaymentState & { id: number; isVisible: boolean })[],
  now: string,
): void {
  const column = <K extends keyof (typeof payments)[number]>(name: K) =>
    payments.map((payment) => payment[name])
  tx.send(
    sql`update payments p set status = m.status, amount = m.amount, amount_refunded = m.amount_refunded,
        said_at = m.said_at,
        updated_at = case when m.is_visible then ${now}::timestamptz else p.updated_at end
      from unnest(${column('id')}::bigint[], ${column('status')}::text[], ${column('amount')}::bigint[],
        ${column('amount_refunded')}::bigint[], ${column('said_at')}::bigint[],
        ${column('isVisible')}::boolean[]) as m(id, status, amount, amount_refunded, said_at, is_visible)
      where p.id = m.id`.compile(tx.db),
  )
}
