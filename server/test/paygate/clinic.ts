/** A service with paygate as its provider, a clinic with payments, and their state. */
import { randomUUID } from 'node:crypto'
import { parseNetworks } from '../../src/platform/net/index.ts'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { type ApiPayment, openPaygateApi, type Paygate, SHOP } from '../support/paygate.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

export type Row = Record<string, any>

type Options = NonNullable<Parameters<typeof openService>[0]>

/** Returns the configuration for this provider. By default no node runs reconciliation. */
export const settingsOf = (paygate: Paygate) => ({
  PAYGATE_API_URL: paygate.url,
  PAYGATE_SHOP_ID: SHOP.id,
  PAYGATE_SECRET_KEY: SHOP.key,
  PAYGATE_ALLOWED_NETWORKS: parseNetworks('127.0.0.0/8'),
  PAYGATE_RECONCILE_MINUTES: 0,
})

export async function openPaidClinic({ config, ...options }: Options = {}) {
  const paygate = await openPaygateApi()
  const service = await openService({
    background: ['payments'],
    ...options,
    config: { ...settingsOf(paygate), ...config },
  })
  const root = await superadmin(service)
  const clinic = await makeClinic(service, root, `clinic-${randomUUID().slice(0, 8)}`)
  const { sql } = service.database
  const metadata = { tenant_id: String(clinic.id) }
  return {
    service,
    paygate,
    clinic,
    root,
    metadata,
    send: senderTo(service),
    /** Sets a payment of the clinic at the provider. */
    pay: (id: string, payment: Partial<ApiPayment> = {}) =>
      paygate.put({ id, metadata, ...payment }),
    rows: () => sql<Row>('select * from payment_notifications order by id'),
    payments: () => sql<Row>('select * from payments order by id'),
    entries: () => sql<Row>("select * from journal where action like 'payment.%' order by id"),
    health: async () => {
      // Signs in again, because a moved clock may have expired the token. Ends the session afterwards, because too many
      // sessions would end the oldest.
      const { token } = await superadmin(service)
      const { body } = await service.call('GET', '/api/admin/health', { token })
      await service.call('POST', '/api/auth/logout', { token })
      return body.checks as Record<string, string>
    },
  }
}

export type PaidClinic = Awaited<ReturnType<typeof openPaidClinic>>

/**
 * Returns a function that sends a notification to the service, from 127.0.0.1 unless a proxy header names another
 * address.
 */
export function senderTo(service: Service) {
  return (payload: string | Buffer, headers: Record<string, string> = {}) =>
    service.call('POST', '/webhooks/paygate', { payload, headers })
}

/** Waits until the inbox contains a single row, and that row matches. */
export async function untilRow(scene: Pick<PaidClinic, 'rows'>, expected: Row): Promise<Row> {
  return until(`the notification is ${JSON.stringify(expected)}`, async () => {
    const [row] = await scene.rows()
    const isSo = row && Object.entries(expected).every(([name, value]) => row[name] === value)
    return isSo ? row : undefined
  })
}
