/** A service that receives cardnet's notifications, with one or two clinics, and helpers to read the results. */
import { randomUUID } from 'node:crypto'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import {
  CARDNET_SECRET,
  type CardnetNotice,
  cardnetNotice,
  cardnetSignature,
} from '../support/payments.ts'
import { type Answer, openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

export const OTHER_SECRET = 'the one that comes after it'

type Json = Record<string, unknown>

export interface SendOptions {
  secret?: string
  /** Seconds since the epoch. */
  t?: number
  /** Replaces the signature of the body. Null omits the header. */
  signature?: string | null
}

export interface PaymentScene {
  service: Service
  root: Person
  clinic: Clinic
  /** Sends bytes, or a notification as JSON. By default signs them with the current time. */
  send(what: string | Buffer | object, options?: SendOptions): Promise<Answer>
  /** Builds a notification about a payment of the clinic. */
  about(type: string, payment: string, object?: Json, more?: Partial<CardnetNotice>): CardnetNotice
  /** Sends the notification, and waits until it is processed. */
  settle(what: CardnetNotice): Promise<Row>
  /** Returns the rows of the inbox for an event, the oldest first. */
  rowsOf(eventId: string): Promise<Row[]>
  /** Waits until no notification is pending. */
  untilSettled(): Promise<void>
  payment(providerPaymentId: string): Promise<Row | undefined>
  /** Returns the journal entries about a payment, the oldest first. */
  entriesOf(providerPaymentId: string): Promise<Row[]>
  get(path: string, who?: Person, query?: Record<string, string | number>): Promise<Answer>
  process(id: number, who?: Person): Promise<Answer>
}

export type Row = Record<string, any>

type Options = NonNullable<Parameters<typeof openService>[0]>

export async function openPaymentScene(options: Options = {}): Promise<PaymentScene> {
  const service = await openService({ background: ['payments'], ...options })
  const root = await superadmin(service)
  const clinic = await makeClinic(service, root, `clinic-${randomUUID().slice(0, 8)}`)
  return sceneOf(service, root, clinic)
}

/** Returns a function that sends notifications to any service, such as a second node. */
export function senderTo(service: Service): PaymentScene['send'] {
  return (what, { secret = CARDNET_SECRET, t, signature } = {}) => {
    const payload = typeof what === 'string' || Buffer.isBuffer(what) ? what : JSON.stringify(what)
    const at = t ?? Math.floor(service.clock.now() / 1000)
    const header = signature === undefined ? cardnetSignature(payload, at, secret) : signature
    const headers = header === null ? {} : { 'cardnet-signature': header }
    return service.call('POST', '/webhooks/cardnet', { payload, headers })
  }
}

function sceneOf(service: Service, root: Person, clinic: Clinic): PaymentScene {
  const { sql } = service.database
  const send = senderTo(service)
  const rowsOf = (eventId: string) =>
    sql<Row>('select * from payment_notifications where event_key = $1 order by id', [eventId])
  const untilSettled = async () => {
    await until('the inbox is worked off', async () => {
      await service.idle('payments')
      const waiting = await sql("select 1 from payment_notifications where state = 'received'")
      return waiting.length === 0 || undefined
    })
  }
  return {
    service,
    root,
    clinic,
    send,
    rowsOf,
    untilSettled,
    about: (type, id, object, more) =>
      cardnetNotice(type, { id, metadata: { tenant_id: String(clinic.id) }, ...object }, more),
    async settle(what) {
      const answer = await send(what)
      if (answer.status !== 200) throw new Error(`answered ${answer.status}`)
      await untilSettled()
      const [row] = await rowsOf(what.id)
      if (!row) throw new Error('it is not in the inbox')
      return row
    },
    payment: async (id) =>
      (await sql<Row>('select * from payments where provider_payment_id = $1', [id]))[0],
    entriesOf: (id) =>
      sql<Row>(
        `select * from journal where action like 'payment.%'
         and changes -> 'after' ->> 'provider_payment_id' = $1 order by id`,
        [id],
      ),
    get: (path, who = root, query) =>
      service.call('GET', path, { token: who.token, ...(query ? { query } : {}) }),
    process: (id, who = root) =>
      service.call('POST', `/api/admin/payment-notifications/${id}/process`, { token: who.token }),
  }
}
