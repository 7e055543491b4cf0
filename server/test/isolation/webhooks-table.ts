/** The access table of webhooks. */
import {
  admins,
  atDelivery,
  atReplay,
  atWebhook,
  clinicAdmin,
  type Line,
  nothing,
} from './lines.ts'

export const WEBHOOKS: readonly Line[] = [
  { name: 'GET /api/webhooks', aim: nothing, own: admins(200) },
  { name: 'GET /api/webhooks/events', aim: nothing, own: admins(200) },
  { name: 'GET /api/webhooks/stats', aim: nothing, own: admins(200) },
  {
    name: 'GET /api/webhooks/{webhook_id}',
    aim: atWebhook,
    own: clinicAdmin(200),
    foreign: clinicAdmin(404),
  },
  {
    name: 'POST /api/webhooks/register',
    aim: ({ tenantId }) => ({
      body: { url: 'http://127.0.0.1:9/', events: ['tenant.restored'], tenant_id: tenantId },
    }),
    own: admins(201),
    foreign: admins(201),
  },
  {
    name: 'PUT /api/webhooks/{webhook_id}',
    aim: (target) => ({ ...atWebhook(target), body: { is_active: false } }),
    own: clinicAdmin(200),
    foreign: clinicAdmin(404),
  },
  {
    name: 'DELETE /api/webhooks/{webhook_id}',
    aim: atWebhook,
    own: clinicAdmin(204),
    foreign: clinicAdmin(404),
  },
  {
    name: 'POST /api/webhooks/{webhook_id}/test',
    aim: atWebhook,
    own: clinicAdmin(200),
    foreign: clinicAdmin(404),
  },
  {
    name: 'GET /api/webhooks/{webhook_id}/deliveries',
    aim: atWebhook,
    own: clinicAdmin(200),
    foreign: clinicAdmin(404),
  },
  {
    name: 'GET /api/webhooks/{webhook_id}/deliveries/{delivery_id}',
    aim: atDelivery,
    own: clinicAdmin(200),
    foreign: clinicAdmin(404),
  },
  {
    name: 'POST /api/webhooks/{webhook_id}/deliveries/{delivery_id}/retry',
    aim: atDelivery,
    own: clinicAdmin(200),
    foreign: clinicAdmin(404),
  },
  {
    name: 'GET /api/webhooks/{webhook_id}/replay',
    aim: (target) => ({ ...atWebhook(target), query: { since: new Date().toISOString() } }),
    own: clinicAdmin(200),
    foreign: clinicAdmin(404),
  },
  {
    name: 'POST /api/webhooks/{webhook_id}/replay',
    aim: (target) => ({ ...atWebhook(target), body: { since: new Date().toISOString() } }),
    own: clinicAdmin(202),
    foreign: clinicAdmin(404),
  },
  {
    name: 'GET /api/webhooks/{webhook_id}/replays',
    aim: atWebhook,
    own: clinicAdmin(200),
    foreign: clinicAdmin(404),
  },
  {
    name: 'GET /api/webhooks/{webhook_id}/replays/{replay_id}',
    aim: atReplay,
    own: clinicAdmin(200),
    foreign: clinicAdmin(404),
  },
  {
    name: 'DELETE /api/webhooks/{webhook_id}/replays/{replay_id}',
    aim: atReplay,
    own: clinicAdmin(204),
    foreign: clinicAdmin(404),
  },
  {
    name: 'DELETE /api/webhooks/{webhook_id}/secrets/previous',
    aim: atWebhook,
    own: clinicAdmin(204),
    foreign: clinicAdmin(404),
  },
]
