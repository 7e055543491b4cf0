/** `/api/webhooks*`: always those of the caller's own tenant. */
import Type from 'typebox'
import { startOf } from '../../lib/page.ts'
import { admins } from '../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../platform/http/index.ts'
import type { Deliveries } from './deliveries/deliveries.service.ts'
import type { TestDeliveries } from './deliveries/test-deliveries.service.ts'
import { CATALOGUE } from './events/catalogue.ts'
import type { Registrations } from './registrations/registrations.service.ts'
import type { Replays } from './replays/replays.service.ts'
import {
  Delivery,
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
  TestResult,
  Webhook,
  WebhookChange,
  WebhookPath,
} from './webhooks.schema.ts'

const tag = 'Webhooks'

export interface WebhookServices {
  registrations: Registrations
  testDeliveries: TestDeliveries
  deliveries: Deliveries
  replays: Replays
}

export function webhookOperations(services: WebhookServices): AnyOperation[] {
  return [...registering(services), ...delivering(services)]
}

function registering({ registrations, testDeliveries }: WebhookServices): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/webhooks',
      id: 'listWebhooks',
      summary: "The tenant's webhooks",
      tag,
      access: admins,
      success: [200, Type.Array(Webhook)],
      handle: ({ caller }) => registrations.list(caller),
    }),
    operation({
      method: 'GET',
      path: '/api/webhooks/events',
      id: 'listWebhookEvents',
      summary: 'The events that webhooks can subscribe to, with an example of each',
      tag,
      access: admins,
      success: [200, Type.Array(EventDescription)],
      handle: () => [...CATALOGUE],
    }),
    operation({
      method: 'POST',
      path: '/api/webhooks/register',
      id: 'registerWebhook',
      summary: 'Registers a webhook; without a secret one is made, and answered this once',
      tag,
      access: admins,
      body: NewWebhook,
      refine: ({ body }, refuse) => registrations.refine(body, refuse),
      success: [201, RegisteredWebhook],
      refusals: ['too_many_webhooks'],
      handle: ({ caller, body, refined }) =>
        registrations.register(caller, { ...body, ...refined }),
    }),
    operation({
      method: 'PUT',
      path: '/api/webhooks/{webhook_id}',
      id: 'updateWebhook',
      summary:
        'Changes a webhook; what is left out stays. A replaced secret signs along for 24 hours',
      tag,
      access: admins,
      params: WebhookPath,
      body: WebhookChange,
      refine: ({ body }, refuse) => registrations.refine(body, refuse),
      success: [200, Webhook],
      refusals: ['not_found'],
      handle: ({ caller, path, body, refined }) =>
        registrations.update(caller, path.webhook_id, { ...body, ...refined }),
    }),
    operation({
      method: 'DELETE',
      path: '/api/webhooks/{webhook_id}',
      id: 'deleteWebhook',
      summary: 'Deletes a webhook, with what still waits for it',
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
      summary: 'Has the secrets before the current one sign no more, from the next attempt on',
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
      summary: 'Sends `webhook.test` to a webhook now, and tells how its receiver answered',
      tag,
      access: admins,
      params: WebhookPath,
      success: [200, TestResult],
      refusals: ['not_found', 'stopping'],
      handle: ({ caller, path }) => testDeliveries.test(caller, path.webhook_id),
    }),
  ]
}

function delivering({ deliveries, replays }: WebhookServices): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/webhooks/{webhook_id}/deliveries',
      id: 'listWebhookDeliveries',
      summary: 'A page of the deliveries to a webhook with their attempts, the latest first',
      tag,
      access: admins,
      params: WebhookPath,
      query: DeliveryQuery,
      list: true,
      refine: (given, refuse) => startOf(deliveryList(given.path.webhook_id), given, refuse),
      success: [200, DeliveryPage],
      refusals: ['not_found'],
      handle: ({ caller, path, query, refined }) =>
        deliveries.list(caller, path.webhook_id, query, refined),
    }),
    operation({
      method: 'POST',
      path: '/api/webhooks/{webhook_id}/deliveries/{delivery_id}/retry',
      id: 'retryWebhookDelivery',
      summary: 'Has a delivery tried again now, whatever has become of it',
      tag,
      access: admins,
      params: DeliveryPath,
      success: [200, Delivery],
      refusals: ['not_found', 'webhook_inactive'],
      handle: ({ caller, path }) => deliveries.retry(caller, path.webhook_id, path.delivery_id),
    }),
    operation({
      method: 'POST',
      path: '/api/webhooks/{webhook_id}/replay',
      id: 'replayWebhook',
      summary: 'Has the events of a time delivered to a webhook again',
      tag,
      access: admins,
      params: WebhookPath,
      body: ReplayOrder,
      refine: ({ body }, refuse) => replays.spanOf(body, refuse),
      success: [202, Replay],
      refusals: ['not_found', 'replay_running'],
      handle: ({ caller, path, refined }) => replays.replay(caller, path.webhook_id, refined),
    }),
    operation({
      method: 'GET',
      path: '/api/webhooks/{webhook_id}/replays/{replay_id}',
      id: 'getWebhookReplay',
      summary: 'How far a replay has come, and what has become of what it has queued',
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
      summary: 'Cancels a replay: nothing more is queued, and what still waits of it is not sent',
      tag,
      access: admins,
      params: ReplayPath,
      success: [204, null],
      refusals: ['not_found', 'replay_over'],
      handle: ({ caller, path }) => replays.cancel(caller, path.webhook_id, path.replay_id),
    }),
  ]
}
