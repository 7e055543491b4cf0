/** The access table of payments. */
import {
  admins,
  atNotification,
  atPayment,
  auditors,
  everyone,
  type Line,
  ofTenant,
  operators,
} from './lines.ts'

export const PAYMENTS: readonly Line[] = [
  {
    name: 'POST /webhooks/cardnet',
    what: 'by a stranger',
    aim: () => ({ body: { id: 'evt_1', type: 'payment.succeeded' } }),
    own: everyone(400),
  },
  {
    name: 'POST /webhooks/paygate',
    what: 'with no notification',
    aim: () => ({ body: { id: 'evt_1' } }),
    own: everyone(400),
  },
  {
    name: 'GET /api/admin/payments',
    aim: ofTenant,
    own: auditors(200),
    foreign: auditors(200, 403),
  },
  {
    name: 'GET /api/admin/payments/stats',
    aim: ofTenant,
    own: auditors(200),
    foreign: auditors(200, 403),
  },
  {
    name: 'GET /api/admin/payments/{payment_id}',
    aim: atPayment,
    own: auditors(200),
    foreign: auditors(200, 404),
  },
  {
    name: 'GET /api/admin/payment-notifications',
    aim: ofTenant,
    own: auditors(200),
    foreign: auditors(200, 403),
  },
  {
    name: 'GET /api/admin/payment-notifications/{notification_id}',
    aim: atNotification,
    own: admins(200),
    foreign: admins(200, 404),
  },
  {
    name: 'POST /api/admin/payment-notifications/{notification_id}/process',
    aim: atNotification,
    own: admins(200),
    foreign: admins(200, 404),
  },
  {
    name: 'POST /api/admin/payment-notifications/discard',
    aim: () => ({ body: {} }),
    own: operators(200),
  },
]
