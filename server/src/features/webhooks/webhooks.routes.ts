/** The operations under `/api/webhooks`, always on webhooks of the caller's own tenant. */
import Type from 'typebox'
import { pageStartOf } from '../../lib/page.ts'
import { spanOf } from '../../lib/span.ts'
import { admins } from '../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../platform/http/index.ts'
import type { Deliveries } from './deliveries/deliveries.service.ts'
import type { TestDeliveries } from './deliveries/test-deliveries.service.ts'
import { CATALOGUE } from './events/catalogue.ts'
import type { WebhookFigures } from './overview/stats.service.ts'
import type { WebhookRegistrations } from './registrations/registrations.service.ts'
import type { Replays } from './replays/replays.service.ts'
import {
  Delivery,
  DeliveryDetails,
  DeliveryPage,
  DeliveryPath,
  DeliveryQuery,
  deliveryList,
  EventDescription,
  NewWebhook,
  RegisteredWebhook,
  Replay,
  ReplayOrder,
  ReplayPath,
  ReplayPreview,
  ReplayQuery,
  TestResult,
  Webhook,
  WebhookChange,
  WebhookDetails,
  WebhookPath,
  WebhookStats,
} from './webhooks.schema.ts'

const tag = 'Webhooks'

export interface WebhookServices {
  registrations: WebhookRegistrations
  testDeliveries: TestDeliveries
  deliveries: Deliveries
  replays: Replays
  figures: WebhookFigures
}

export function webhookOperations(services: WebhookServices): AnyOperation[] {
  return [
    ...reading(services),
    ...registering(services),
    ...delivering(services),
    ...replaying(services),
  ]
}

function reading({ registrations, figures }: WebhookServices): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/webhooks',
      id: 'listWebhooks',
      summary: 'List webhooks',
      description: "Returns the webhooks of the caller's tenant. Secrets are never shown.",

      tag,
      access: admins,
      success: [200, Type.Array(Webhook)],
      handle: ({ caller }) => registrations.list(caller),
    }),
    operation({
      method: 'GET',
      path: '/api/webhooks/events',
      id: 'listWebhookEvents',
      summary: 'List the events',
      description:
        'Returns the events that a webhook can subscribe to, each with an example message.',

      tag,
      access: admins,
      success: [200, Type.Array(EventDescription)],
      handle: () => [...CATALOGUE],
    }),
    operation({
      method: 'GET',
      path: '/api/webhooks/stats',
      id: 'listWebhookStats',
      summary: 'List the figures of webhooks',
      description:
        "Returns the deliveries of the last 24 hours, without tests, for each webhook of the caller's tenant, in the order of the webhooks.",
      tag,
      access: admins,
      success: [200, Type.Array(WebhookStats)],
      handle: ({ caller }) => figures.list(caller),
    }),
    operation({
      method: 'GET',
      path: '/api/webhooks/{webhook_id}',
      id: 'getWebhook',
      summary: 'Get a webhook',
      description:
        'Returns a webhook with the latest failure of undelivered messages and its deliveries of the last 24 hours, without tests. Secrets are never shown.',
      tag,
      access: admins,
      params: WebhookPath,
      success: [200, WebhookDetails],
      refusals: ['not_found'],
      handle: ({ caller, path }) => figures.find(caller, path.webhook_id),
    }),
  ]
}

function registering({ registrations, testDeliveries }: WebhookServices): AnyOperation[] {
  return [
    operation({
      method: 'POST',
      path: '/api/webhooks/register',
      id: 'registerWebhook',
      summary: 'Register a webhook',
      description:
        'Registers a receiver. Without `secret` the service generates one and returns it in this response only. Messages are signed according to Standard Webhooks.',
      records: ['webhook.registered'],
      tag,
      access: admins,
      body: NewWebhook,
      refine: ({ body }, refuse) => registrations.refine(body, refuse),
      success: [201, RegisteredWebhook],
      refusals: ['too_many_webhooks'],
      example: {
        body: {
          url: 'https://ehr.north.example/wardkeep',
          events: ['user.*', 'payment.succeeded'],
        },
      },
      handle: ({ caller, body, refined }) =>
        registrations.register(caller, { ...body, ...refined }),
    }),
    operation({
      method: 'PUT',
      path: '/api/webhooks/{webhook_id}',
      id: 'updateWebhook',
      summary: 'Change a webhook',
      description:
        'Changes the fields that are sent. After a new `secret`, the previous one also signs for 24 hours. Activating a webhook resumes its deliveries.',
      records: ['webhook.updated'],
      tag,
      access: admins,
      params: WebhookPath,
      body: WebhookChange,
      refine: ({ body }, refuse) => registrations.refine(body, refuse),
      success: [200, Webhook],
      refusals: ['not_found'],
      example: { answer: { events: ['*'] }, body: { events: ['*'] } },
      handle: ({ caller, path, body, refined }) =>
        registrations.update(caller, path.webhook_id, { ...body, ...refined }),
    }),
    operation({
      method: 'DELETE',
      path: '/api/webhooks/{webhook_id}',
      id: 'deleteWebhook',
      summary: 'Delete a webhook',
      description: 'Deletes the webhook with its pending deliveries.',
      records: ['webhook.deleted'],
      tag,
      access: admins,
      params: WebhookPath,
      success: [204, null],
      refusals: ['not_found'],
      handle: ({ caller, path }) => registrations.delete(caller, path.webhook_id),
    }),
    operation({
      method: 'DELETE',
      path: '/api/webhooks/{webhook_id}/secrets/previous',
      id: 'withdrawWebhookSecrets',
      summary: 'Withdraw previous secrets',
      description:
        'Stops signing with previous secrets immediately, for example after one has leaked.',
      records: ['webhook.secrets_withdrawn'],
      tag,
      access: admins,
      params: WebhookPath,
      success: [204, null],
      refusals: ['not_found'],
      handle: ({ caller, path }) => registrations.withdrawSecrets(caller, path.webhook_id),
    }),
    operation({
      method: 'POST',
      path: '/api/webhooks/{webhook_id}/test',
      id: 'testWebhook',
      summary: 'Test a webhook',
      description:
        'Sends the event `webhook.test` to the receiver once and returns its response. If the receiver accepts it, deliveries that wait for their next attempt are sent at once.',
      records: ['webhook.test'],
      tag,
      access: admins,
      params: WebhookPath,
      success: [200, TestResult],
      refusals: ['not_found', 'stopping'],
      handle: ({ caller, path }) => testDeliveries.test(caller, path.webhook_id),
    }),
  ]
}

function delivering({ deliveries }: WebhookServices): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/webhooks/{webhook_id}/deliveries',
      id: 'listWebhookDeliveries',
      summary: 'List deliveries',
      description:
        'Returns a page of the deliveries to the webhook with their attempts, latest first.',

      tag,
      access: admins,
      params: WebhookPath,
      query: DeliveryQuery,
      list: true,
      refine: (given, refuse) => ({
        span: spanOf(given.query.from_date, given.query.to_date, refuse),
        from: pageStartOf(deliveryList(given.path.webhook_id), given, refuse),
      }),
      success: [200, DeliveryPage],
      refusals: ['not_found'],
      handle: ({ caller, path, query, refined }) =>
        deliveries.list(caller, path.webhook_id, query, refined),
    }),
    operation({
      method: 'GET',
      path: '/api/webhooks/{webhook_id}/deliveries/{delivery_id}',
      id: 'getWebhookDelivery',
      summary: 'Get a delivery',
      description:
        'Returns a delivery with its attempts, and the request as each attempt sends it, without its signature.',
      tag,
      access: admins,
      params: DeliveryPath,
      success: [200, DeliveryDetails],
      refusals: ['not_found'],
      handle: ({ caller, path }) => deliveries.find(caller, path.webhook_id, path.delivery_id),
    }),
    operation({
      method: 'POST',
      path: '/api/webhooks/{webhook_id}/deliveries/{delivery_id}/retry',
      id: 'retryWebhookDelivery',
      summary: 'Retry a delivery',
      description:
        'Queues the delivery again immediately, in any state. The webhook must be active.',
      records: ['webhook.delivery_retried'],
      tag,
      access: admins,
      params: DeliveryPath,
      success: [200, Delivery],
      refusals: ['not_found', 'webhook_inactive'],
      handle: ({ caller, path }) => deliveries.retry(caller, path.webhook_id, path.delivery_id),
    }),
  ]
}

function replaying({ replays }: WebhookServices): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/webhooks/{webhook_id}/replay',
      id: 'previewWebhookReplay',
      summary: 'Preview a replay',
      description: 'Counts the messages that a replay would queue, and changes nothing.',
      tag,
      access: admins,
      params: WebhookPath,
      query: ReplayQuery,
      refine: ({ query }, refuse) => replays.spanOf(query, refuse, 'query'),
      success: [200, ReplayPreview],
      refusals: ['not_found'],
      handle: ({ caller, path, refined }) => replays.preview(caller, path.webhook_id, refined),
    }),
    operation({
      method: 'POST',
      path: '/api/webhooks/{webhook_id}/replay',
      id: 'replayWebhook',
      summary: 'Replay events',
      description:
        'Queues the events of a period for the webhook again, or with `only_failed` the deliveries that failed for good. Events that were delivered are sent again with the same `webhook-id`.',
      records: ['webhook.replayed'],
      tag,
      access: admins,
      params: WebhookPath,
      body: ReplayOrder,
      refine: ({ body }, refuse) => replays.spanOf(body, refuse),
      success: [202, Replay],
      refusals: ['not_found', 'replay_running'],
      example: { body: { since: '2026-11-21' } },
      handle: ({ caller, path, refined }) => replays.replay(caller, path.webhook_id, refined),
    }),
    operation({
      method: 'GET',
      path: '/api/webhooks/{webhook_id}/replays',
      id: 'listWebhookReplays',
      summary: 'List replays',
      description:
        'Returns the latest 50 replays of the webhook, latest first. Counts the states of up to 100,000 deliveries of each.',
      tag,
      access: admins,
      params: WebhookPath,
      success: [200, Type.Array(Replay)],
      refusals: ['not_found'],
      handle: ({ caller, path }) => replays.list(caller, path.webhook_id),
    }),
    operation({
      method: 'GET',
      path: '/api/webhooks/{webhook_id}/replays/{replay_id}',
      id: 'getWebhookReplay',
      summary: 'Get a replay',
      description:
        'Returns the progress of a replay and the state of the deliveries it has queued.',

      tag,
      access: admins,
      params: ReplayPath,
      success: [200, Replay],
      refusals: ['not_found'],
      handle: ({ caller, path }) => replays.find(caller, path.webhook_id, path.replay_id),
    }),
    operation({
      method: 'DELETE',
      path: '/api/webhooks/{webhook_id}/replays/{replay_id}',
      id: 'cancelWebhookReplay',
      summary: 'Cancel a replay',
      description:
        'Stops queueing events and removes the deliveries of the replay that are still pending.',
      records: ['webhook.replay_cancelled'],
      tag,
      access: admins,
      params: ReplayPath,
      success: [204, null],
      refusals: ['not_found', 'replay_over'],
      handle: ({ caller, path }) => replays.cancel(caller, path.webhook_id, path.replay_id),
    }),
  ]
}
