/** Payments with their notifications: most have succeeded, and a few are in each of the other states. */
import type pg from 'pg'
import { withoutIndexes } from './copy.ts'
import { tenantId } from './people.ts'
import type { Size } from './sizes.ts'

/** A dummy value with the minimum length of an encrypted value. It is never decrypted. */
const SEALED = `decode('02' || repeat('00', 7) || '01' || repeat('ab', 40), 'hex')`

/** Creates payments for all tenants in turn, half a minute apart. The last payment is created now. */
export async function seedPayments(
  client: pg.Client,
  { tenants, paymentsPerTenant = 0 }: Size,
  say: (what: string) => void,
): Promise<void> {
  const payments = tenants * paymentsPerTenant
  const tenant = `${tenantId(0)} + n % ${tenants}`
  const provider = `case when n % 3 = 0 then 'paygate' else 'cardnet' end`
  const at = `now() - (${payments} - n) * interval '30 seconds'`
  const load = async () => {
    say(`${payments.toLocaleString('en-US')} payments`)
    await client.query(`
      insert into payments (id, tenant_id, provider, provider_payment_id, status, amount, amount_refunded,
        currency, currency_exponent, said_at, created_at, updated_at)
      select n, ${tenant}, ${provider}, 'pay_' || n,
        case when n % 997 = 7 then 'authorized' when n % 50 = 1 then 'failed'
          when n % 50 = 2 then 'canceled' else 'succeeded' end,
        1000, 0, case when n % 997 = 11 then 'KWD' when n % 10 = 4 then 'USD' else 'EUR' end, 2,
        1790000000000, ${at}, ${at}
      from generate_series(1, ${payments}) n`)
    await client.query(`
      insert into payment_notifications (id, tenant_id, provider, event_key, type, provider_payment_id,
        payment_id, state, reason, holds_key, received_at, armed_at, processed_at, seal_id, sealed_body)
      select n, ${tenant}, ${provider}, 'evt_' || n, 'payment.succeeded', 'pay_' || n, n,
        case when n % 997 = 9 then 'failed' when n % 20 = 1 then 'superseded' else 'applied' end,
        case when n % 997 = 9 then 'amount_unreadable' end, true, ${at}, ${at}, ${at},
        gen_random_uuid(), ${SEALED}
      from generate_series(1, ${payments}) n`)
  }
  await withoutIndexes(client, ['payments', 'payment_notifications'], load, say)
}
