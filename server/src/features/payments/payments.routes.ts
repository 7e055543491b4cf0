/** The routes `/webhooks/cardnet` and `/webhooks/paygate` for the providers, and the payment routes for operators. */
import { pageStartOf } from '../../lib/page.ts'
import { Problem } from '../../lib/problems.ts'
import { spanOf } from '../../lib/span.ts'
import { admins, anyone, auditors, superadmins } from '../../platform/access/index.ts'
import { type AnyOperation, operation, RawBody } from '../../platform/http/index.ts'
import type { Arrivals } from './inbox/store-arrivals.ts'
import {
  Discard,
  Discarded,
  NotificationPage,
  NotificationPath,
  NotificationQuery,
  NotificationWithBody,
  notificationList,
  PaymentNotification,
  PaymentPage,
  PaymentPath,
  PaymentQuery,
  PaymentStats,
  PaymentStatsQuery,
  PaymentWithNotifications,
  paymentList,
  Received,
} from './payments.schema.ts'
import type { PaymentProvider } from './provider.ts'
import type { PaymentRecords } from './records/records.service.ts'

const tag = 'Payments'
const MAX_NOTICE_BYTES = 256 * 1024
/** The body limit for a provider that is not configured. Anyone may have sent such a notice (decisions §6). */
const MAX_UNPROVEN_BYTES = 16 * 1024

const RECEIVED = { received: true } as const

const CARDNET_EXAMPLE = {
  id: 'evt_5Yh2',
  type: 'payment.created',
  created: 1_790_000_000,
  data: {
    object: {
      id: 'pay_4f2b',
      status: 'created',
      amount: 10_000,
      currency: 'EUR',
      metadata: { tenant_id: 3 },
    },
  },
}
const PAYGATE_EXAMPLE = {
  event: 'payment.succeeded',
  object: { id: 'pay_4f2b', status: 'succeeded' },
}

export interface PaymentServices {
  arrivals: Pick<Arrivals, 'take'>
  cardnet: PaymentProvider
  paygate: PaymentProvider
  records: PaymentRecords
}

export function paymentOperations(services: PaymentServices): AnyOperation[] {
  return [...receiving(services), ...paying(services), ...notifying(services)]
}

function receiving({ arrivals, cardnet, paygate }: PaymentServices): AnyOperation[] {
  const common = {
    method: 'POST',
    tag: 'Payment notifications',
    access: anyone,
    body: RawBody,
    bodyLimit: MAX_NOTICE_BYTES,
    success: [200, Received],
  } as const
  return [
    operation({
      ...common,
      ...limitOf(cardnet),
      path: '/webhooks/cardnet',
      id: 'receiveCardnetNotification',
      summary: 'Receive a cardnet notification',
      description:
        'Called by cardnet. Stores the notification before it responds and applies it afterwards. A repeated notification is stored once.',

      refusesInput: true,
      example: { body: CARDNET_EXAMPLE },
      headers: { 'Cardnet-Signature': '`t=<unix>,v1=<hex>`: HMAC-SHA256 of `t.` and the body' },
      refusals: ['invalid_signature', 'inbox_full'],
      async handle({ body, headers }) {
        await arrivals.take(cardnet.judge(bounded(cardnet, body), headers['Cardnet-Signature']))
        return RECEIVED
      },
    }),
    operation({
      ...common,
      ...limitOf(paygate),
      path: '/webhooks/paygate',
      id: 'receivePaygateNotification',
      summary: 'Receive a paygate notification',
      description:
        'Called by paygate. Stores the notification before it responds and applies it afterwards, once the provider has confirmed it. A repeated notification is stored once.',

      onlyFrom: () => paygate.networks,
      example: { body: PAYGATE_EXAMPLE },
      refusals: ['notification_unreadable', 'inbox_full'],
      async handle({ body }) {
        await arrivals.take(paygate.judge(bounded(paygate, body), []))
        return RECEIVED
      },
    }),
  ]
}

/** Returns the rate limit of a provider's notices: a separate limit if it is configured, otherwise the ordinary one. */
const limitOf = ({ isConfigured }: PaymentProvider) =>
  isConfigured ? ({ limit: 'notifications' } as const) : {}

/** Returns the body. @throws Problem 413 if the body is too large for a provider that is not configured */
function bounded({ isConfigured }: PaymentProvider, body: Buffer): Buffer {
  if (isConfigured || body.length <= MAX_UNPROVEN_BYTES) return body
  throw new Problem('body_too_large', {
    detail:
      'The body is larger than 16 KiB, the limit for a provider that is not configured. Configure the provider.',
  })
}

function paying({ records }: PaymentServices): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/admin/payments',
      id: 'listPayments',
      summary: 'List payments',
      description: 'Returns a page of payments, latest first.',

      tag,
      access: auditors,
      query: PaymentQuery,
      list: true,
      refine: (given, refuse) => ({
        span: spanOf(given.query.from_date, given.query.to_date, refuse),
        from: pageStartOf(paymentList, given, refuse),
      }),
      success: [200, PaymentPage],
      refusals: ['other_tenant'],
      handle: ({ caller, query, refined }) => records.listPayments(caller, query, refined),
    }),
    operation({
      method: 'GET',
      path: '/api/admin/payments/stats',
      id: 'getPaymentStats',
      summary: 'Get the figures of payments',
      description:
        'Counts payments by tenant, provider and status. Shows which tenant pays through which provider, and which payments failed.',
      tag,
      access: auditors,
      query: PaymentStatsQuery,
      list: true,
      refine: ({ query }, refuse) => spanOf(query.from_date, query.to_date, refuse),
      success: [200, PaymentStats],
      refusals: ['other_tenant'],
      handle: ({ caller, query, refined }) => records.stats(caller, query, refined),
    }),
    operation({
      method: 'GET',
      path: '/api/admin/payments/{payment_id}',
      id: 'getPayment',
      summary: 'Get a payment',
      description: 'Returns one payment with the notifications it was derived from.',

      tag,
      access: auditors,
      params: PaymentPath,
      success: [200, PaymentWithNotifications],
      refusals: ['not_found'],
      handle: ({ caller, path }) => records.payment(caller, path.payment_id),
    }),
  ]
}

function notifying({ records }: PaymentServices): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/admin/payment-notifications',
      id: 'listPaymentNotifications',
      summary: 'List payment notifications',
      description:
        "Returns a page of the providers' notifications, latest first, without their bodies.",

      tag,
      access: auditors,
      query: NotificationQuery,
      list: true,
      refine: (given, refuse) => ({
        span: spanOf(given.query.from_date, given.query.to_date, refuse),
        from: pageStartOf(notificationList, given, refuse),
      }),
      success: [200, NotificationPage],
      refusals: ['other_tenant'],
      handle: ({ caller, query, refined }) => records.listNotifications(caller, query, refined),
    }),
    operation({
      method: 'GET',
      path: '/api/admin/payment-notifications/{notification_id}',
      id: 'getPaymentNotification',
      summary: 'Get a payment notification',
      description: 'Returns one notification with its body as it was received.',
      records: ['payment_notification.read'],
      tag,
      access: admins,
      params: NotificationPath,
      success: [200, NotificationWithBody],
      refusals: ['not_found'],
      handle: ({ caller, path }) => records.notification(caller, path.notification_id),
    }),
    operation({
      method: 'POST',
      path: '/api/admin/payment-notifications/{notification_id}/process',
      id: 'processPaymentNotification',
      summary: 'Process a notification again',
      description: 'Immediately processes a failed or unverified notification again.',
      records: ['payment_notification.processed'],
      tag,
      access: admins,
      params: NotificationPath,
      success: [200, PaymentNotification],
      refusals: ['not_found', 'notification_settled'],
      handle: ({ caller, path }) => records.process(caller, path.notification_id),
    }),
    operation({
      method: 'POST',
      path: '/api/admin/payment-notifications/discard',
      id: 'discardPaymentNotifications',
      summary: 'Discard unverified notifications',
      description: 'Deletes the unverified notifications of a provider, or of every provider.',
      records: ['payment_notification.discarded'],
      tag,
      access: superadmins,
      body: Discard,
      success: [200, Discarded],
      example: { body: { provider: 'paygate' } },
      handle: ({ caller, body }) => records.discard(caller, body),
    }),
  ]
}
