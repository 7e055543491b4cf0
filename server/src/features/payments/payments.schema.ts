import Type, { type Static } from 'typebox'
import { defineList, pageOf } from '../../lib/page.ts'
import { described, Id, idOf, Nullable, OneOf, Timestamp } from '../../lib/shapes.ts'
import { PROVIDERS, UNUSABLE_REASONS, type UnusableReason } from './payment-facts.ts'
import { NOTIFICATION_STATES } from './payments.table.ts'
import { PAYMENT_STATUSES, type PaymentStatus } from './states.ts'

/** The response to every stored notice, whether applied or not, so that strangers learn nothing. */
export const Received = Type.Object({ received: Type.Literal(true) }, { $id: 'Received' })

const MinorUnits = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description:
    'The amount in minor units, such as cents. `currency_exponent` is the number of decimal places.',
})

const PAYMENT = {
  id: Id,
  tenant_id: Id,
  provider: OneOf(PROVIDERS),
  provider_payment_id: Type.String({ examples: ['pay_4f2b'] }),
  status: OneOf(PAYMENT_STATUSES, { examples: ['succeeded'] }),
  amount: { ...MinorUnits, examples: [10_000] },
  amount_refunded: MinorUnits,
  currency: Type.String({ examples: ['EUR'], description: 'ISO 4217' }),
  currency_exponent: Type.Integer({
    examples: [2],
    description: 'The number of decimal places of the currency.',
  }),
  test: Type.Boolean({
    description: "True for a payment in the provider's test mode, without real money.",
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
    description: 'Identifies the event. Repeated notifications of an event have the same key.',
  }),
  type: Type.String({ examples: ['payment.succeeded'] }),
  provider_payment_id: Nullable(Type.String({ examples: ['pay_4f2b'] })),
  payment_id: Nullable(Id),
  tenant_id: Nullable(Id),
  state: OneOf(NOTIFICATION_STATES, {
    examples: ['applied'],
    description:
      '`received`: waiting to be processed. `superseded`: a newer state is already stored. `unverified`: not confirmed to come from the provider.',
  }),
  reason: Nullable(OneOf(Object.keys(UNUSABLE_REASONS) as UnusableReason[])),
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
      description: 'The body as it was received.',
    }),
  },
  { $id: 'PaymentNotificationWithBody' },
)
export type NotificationWithBody = Static<typeof NotificationWithBody>

/** The request to discard unverified notifications of one provider, or of all providers. */
export const Discard = Type.Object({ provider: Type.Optional(OneOf(PROVIDERS)) })
export type Discard = Static<typeof Discard>

export const Discarded = Type.Object(
  {
    discarded: Type.Integer({
      examples: [12],
      description: 'The number of notifications that were deleted.',
    }),
  },
  { $id: 'Discarded' },
)
export type Discarded = Static<typeof Discarded>

export const PaymentWithNotifications = Type.Object(
  {
    ...PAYMENT,
    notifications: Type.Array(PaymentNotification, {
      description: 'The latest 100 notifications, latest first.',
    }),
  },
  { $id: 'PaymentWithNotifications' },
)
export type PaymentWithNotifications = Static<typeof PaymentWithNotifications>

export const PaymentPage = pageOf(Payment)
export const NotificationPage = pageOf(PaymentNotification)

const DateOrTime = Type.String({
  format: 'date-or-time',
  description: 'A date, which stands for the whole UTC day, or a date and time. Inclusive.',
})

export const paymentList = defineList(
  'payments',
  { id: 'integer', created_at: 'time' },
  { sort_by: 'id', sort_order: 'desc' },
)

export const PaymentQuery = Type.Object({
  tenant_id: Type.Optional(described(Id, 'Only payments of this tenant. For superadmins.')),
  provider: Type.Optional(OneOf(PROVIDERS, { description: 'Only this provider.' })),
  status: Type.Optional(OneOf(PAYMENT_STATUSES, { description: 'Only payments of this status.' })),
  currency: Type.Optional(Type.String({ maxLength: 3, description: 'An ISO 4217 code.' })),
  provider_payment_id: Type.Optional(
    Type.String({ maxLength: 255, description: 'The id of the payment at the provider.' }),
  ),
  from_date: Type.Optional(DateOrTime),
  to_date: Type.Optional(DateOrTime),
  ...paymentList.query,
})
export type PaymentQuery = Static<typeof PaymentQuery>

export const PaymentStatsQuery = Type.Object({
  tenant_id: Type.Optional(
    described(Id, 'Only this tenant. For superadmins, who see all tenants by default.'),
  ),
  from_date: Type.Optional(DateOrTime),
  to_date: Type.Optional(DateOrTime),
})
export type PaymentStatsQuery = Static<typeof PaymentStatsQuery>

const Count = Type.Integer({ minimum: 0 })

const ProviderFigures = Type.Object(
  {
    tenant_id: Id,
    tenant_name: Type.String({ examples: ['North Clinic'] }),
    provider: OneOf(PROVIDERS),
    total: { ...Count, examples: [120] },
    by_status: Type.Object(
      Object.fromEntries(PAYMENT_STATUSES.map((status) => [status, Count])) as Record<
        PaymentStatus,
        typeof Count
      >,
    ),
    last_at: described(Timestamp, 'When the latest of these payments was created.'),
  },
  { $id: 'ProviderFigures' },
)

export const PaymentStats = Type.Object(
  {
    from: described(Timestamp, 'The start of the period, 30 days ago by default.'),
    max_per_tenant: Type.Integer({
      examples: [1000],
      description:
        'The figures of a tenant cover at most this many of its latest payments in the period.',
    }),
    providers: Type.Array(
      Type.Object({
        provider: OneOf(PROVIDERS),
        is_configured: Type.Boolean({
          description: 'Whether the service can verify the notifications of this provider.',
          examples: [true],
        }),
      }),
      { description: 'All providers, with those that are configured in this installation.' },
    ),
    items: Type.Array(ProviderFigures, {
      description:
        'The payments of each tenant through each provider, without payments in test mode. Tenants with failed payments come first. At most 1,000.',
    }),
  },
  { $id: 'PaymentStats' },
)
export type PaymentStats = Static<typeof PaymentStats>

export const notificationList = defineList(
  'payment-notifications',
  { id: 'integer', received_at: 'time' },
  { sort_by: 'id', sort_order: 'desc' },
)

export const NotificationQuery = Type.Object({
  tenant_id: Type.Optional(described(Id, 'Only notifications of this tenant. For superadmins.')),
  provider: Type.Optional(OneOf(PROVIDERS, { description: 'Only this provider.' })),
  state: Type.Optional(
    OneOf(NOTIFICATION_STATES, { description: 'Only notifications of this state.' }),
  ),
  reason: Type.Optional(
    OneOf(Object.keys(UNUSABLE_REASONS) as UnusableReason[], {
      description: 'Only notifications that failed or are waiting for this reason.',
    }),
  ),
  from_date: Type.Optional(DateOrTime),
  to_date: Type.Optional(DateOrTime),
  ...notificationList.query,
})
export type NotificationQuery = Static<typeof NotificationQuery>

export const PaymentPath = Type.Object({ payment_id: idOf('payment', 81) })
export const NotificationPath = Type.Object({ notification_id: idOf('notification', 204) })
