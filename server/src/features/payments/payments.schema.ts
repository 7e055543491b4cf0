/** Payments and their notifications on the wire. */
import Type, { type Static } from 'typebox'
import { defineList, pageOf } from '../../lib/page.ts'
import { described, Id, idOf, Nullable, OneOf, Timestamp } from '../../lib/shapes.ts'
import { PROVIDERS, REASONS, type Reason } from './payment-facts.ts'
import { NOTIFICATION_STATES } from './payments.table.ts'
import { STATUSES } from './states.ts'

/** What a provider is answered, whatever has become of its notice: strangers learn nothing by it. */
export const Received = Type.Object({ received: Type.Literal(true) }, { $id: 'Received' })

const MinorUnits = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'in minor units: with an exponent of 2 they are hundredths',
})

const PAYMENT = {
  id: Id,
  tenant_id: Id,
  provider: OneOf(PROVIDERS),
  provider_payment_id: Type.String({ examples: ['pay_4f2b'] }),
  status: OneOf(STATUSES, { examples: ['succeeded'] }),
  amount: { ...MinorUnits, examples: [10_000] },
  amount_refunded: MinorUnits,
  currency: Type.String({ examples: ['EUR'], description: 'ISO 4217' }),
  currency_exponent: Type.Integer({
    examples: [2],
    description: 'digits of the currency behind its mark',
  }),
  test: Type.Boolean({
    description: "true for a payment of the provider's test mode, in which no money moves",
  }),
  created_at: Timestamp,
  updated_at: Timestamp,
}

export const Payment = Type.Object(PAYMENT, { $id: 'Payment' })
export type Payment = Static<typeof Payment>

const NOTIFICATION = {
  id: Id,
  provider: OneOf(PROVIDERS),
  event_key: Type.String({
    examples: ['evt_5Yh2'],
    description: 'names the event: the same for every repeat of it',
  }),
  type: Type.String({ examples: ['payment.succeeded'] }),
  provider_payment_id: Nullable(Type.String({ examples: ['pay_4f2b'] })),
  payment_id: Nullable(Id),
  tenant_id: Nullable(Id),
  state: OneOf(NOTIFICATION_STATES, {
    examples: ['applied'],
    description:
      'received: it waits; superseded: it said nothing newer; unverified: nobody has proven it',
  }),
  reason: Nullable(OneOf(Object.keys(REASONS) as Reason[])),
  attempts: Type.Integer({ examples: [1] }),
  times_received: Type.Integer({ examples: [1] }),
  received_at: Timestamp,
  processed_at: Nullable(Timestamp),
  next_attempt_at: Nullable(Timestamp),
}

export const PaymentNotification = Type.Object(NOTIFICATION, { $id: 'PaymentNotification' })
export type PaymentNotification = Static<typeof PaymentNotification>

export const NotificationWithBody = Type.Object(
  {
    ...NOTIFICATION,
    body: Type.String({
      examples: ['{"id":"evt_5Yh2","type":"payment.succeeded"}'],
      description: 'as it was sent',
    }),
  },
  { $id: 'PaymentNotificationWithBody' },
)
export type NotificationWithBody = Static<typeof NotificationWithBody>

/** Selects the unverified notifications to discard: of one provider, or all. */
export const Discard = Type.Object({ provider: Type.Optional(OneOf(PROVIDERS)) })
export type Discard = Static<typeof Discard>

export const Discarded = Type.Object(
  { discarded: Type.Integer({ examples: [12], description: 'notifications that were deleted' }) },
  { $id: 'Discarded' },
)
export type Discarded = Static<typeof Discarded>

export const PaymentWithNotifications = Type.Object(
  {
    ...PAYMENT,
    notifications: Type.Array(PaymentNotification, { description: 'the latest 100, latest first' }),
  },
  { $id: 'PaymentWithNotifications' },
)
export type PaymentWithNotifications = Static<typeof PaymentWithNotifications>

export const PaymentPage = pageOf(Payment)
export const NotificationPage = pageOf(PaymentNotification)

const DateOrTime = Type.String({
  format: 'date-or-time',
  description: 'A date, which means the whole UTC day, or a date and time; inclusive',
})

export const paymentList = defineList(
  'payments',
  { id: 'integer', created_at: 'time' },
  { sort_by: 'id', sort_order: 'desc' },
)

export const PaymentQuery = Type.Object({
  tenant_id: Type.Optional(described(Id, 'Only payments of this tenant. For superadmins.')),
  provider: Type.Optional(OneOf(PROVIDERS, { description: 'Only this provider.' })),
  status: Type.Optional(OneOf(STATUSES, { description: 'Only payments of this status.' })),
  currency: Type.Optional(Type.String({ maxLength: 3, description: 'An ISO 4217 code.' })),
  provider_payment_id: Type.Optional(
    Type.String({ maxLength: 255, description: 'The id of the payment at the provider.' }),
  ),
  from_date: Type.Optional(DateOrTime),
  to_date: Type.Optional(DateOrTime),
  ...paymentList.query,
})
export type PaymentQuery = Static<typeof PaymentQuery>

export const notificationList = defineList(
  'payment-notifications',
  { id: 'integer', received_at: 'time' },
  { sort_by: 'id', sort_order: 'desc' },
)

export const NotificationQuery = Type.Object({
  provider: Type.Optional(OneOf(PROVIDERS, { description: 'Only this provider.' })),
  state: Type.Optional(
    OneOf(NOTIFICATION_STATES, { description: 'Only notifications of this state.' }),
  ),
  reason: Type.Optional(
    OneOf(Object.keys(REASONS) as Reason[], {
      description: 'Only notifications that failed or wait for this reason.',
    }),
  ),
  from_date: Type.Optional(DateOrTime),
  to_date: Type.Optional(DateOrTime),
  ...notificationList.query,
})
export type NotificationQuery = Static<typeof NotificationQuery>

export const PaymentPath = Type.Object({ payment_id: idOf('payment', 81) })
export const NotificationPath = Type.Object({ notification_id: idOf('notification', 204) })
