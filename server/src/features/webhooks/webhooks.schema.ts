import Type, { type Static } from 'typebox'
import { HOURS, Hourly } from '../../lib/hours.ts'
import { defineList, pageOf } from '../../lib/page.ts'
import { Id, idOf, Nullable, OneOf, Timestamp } from '../../lib/shapes.ts'
import { PUBLIC_ACTIONS } from '../../platform/journal/index.ts'
import { SUBSCRIBABLE } from './events/subscription.ts'
import { ATTEMPT_ERRORS } from './sending/attempt.ts'
import { STATUS_CLASSES } from './sending/status-class.ts'

export const MAX_URL_LENGTH = 2048

const WEBHOOK = {
  id: Id,
  tenant_id: Id,
  url: Type.String({ examples: ['https://ehr.north.example/wardkeep'] }),
  events: Type.Array(Type.String({ examples: ['user.*'] })),
  is_active: Type.Boolean({ examples: [true] }),
  created_at: Timestamp,
  disabled_reason: Nullable(
    OneOf(['admin', 'failing', 'gone'], {
      description:
        'Why the webhook is inactive: deactivated by an administrator, or because its receiver failed for too long or no longer exists.',
    }),
  ),
  failing_since: Nullable(Timestamp),
}

export const Webhook = Type.Object(WEBHOOK, { $id: 'Webhook' })
export type Webhook = Static<typeof Webhook>

/** The error codes that the API returns. Aborted attempts are repeated later and never returned. */
export const SHOWN_ERRORS = ATTEMPT_ERRORS.filter((error) => error !== 'aborted')

const Count = Type.Integer({ minimum: 0, examples: [2] })

const STATS = {
  since: Timestamp,
  delivered: Count,
  failed: Type.Integer({ minimum: 0, description: 'Deliveries that failed for good.' }),
  is_estimate: Type.Boolean({
    description: 'True if there are very many deliveries in a quarter of an hour.',
  }),
  hourly: Type.Object({
    delivered: Hourly('Deliveries that succeeded, by the time of the event'),
    failed: Hourly('Deliveries that failed for good, by the time of the event'),
  }),
}

export const WebhookStats = Type.Object(
  { webhook_id: Id, ...STATS },
  {
    $id: 'WebhookStats',
    description: `The deliveries of the events of the last ${HOURS} clock hours.`,
  },
)
export type WebhookStats = Static<typeof WebhookStats>

export const WebhookDetails = Type.Object(
  {
    ...WEBHOOK,
    waiting: Type.Integer({
      minimum: 0,
      description: 'The deliveries that wait for an attempt, counted up to 1,000.',
      examples: [12],
    }),
    last_failure: Nullable(
      Type.Object({
        started_at: Timestamp,
        status_code: Nullable(Type.Integer({ examples: [503] })),
        error: OneOf(SHOWN_ERRORS, { examples: ['status'] }),
        detail: Nullable(Type.String({ examples: ['the receiver responded with 503'] })),
      }),
      { description: 'The latest failed attempt of the deliveries that are not delivered yet.' },
    ),
    previous_secret_until: Nullable(Timestamp, {
      description: 'Until when the previous secret signs along. Null without a previous secret.',
    }),
    stats: Type.Object(STATS),
  },
  { $id: 'WebhookDetails' },
)
export type WebhookDetails = Static<typeof WebhookDetails>

export const RegisteredWebhook = Type.Object(
  {
    ...WEBHOOK,
    secret: Type.Optional(
      Type.String({
        examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
        description:
          'The generated secret, shown only in this response. Left out if the request sent a secret.',
      }),
    ),
  },
  { $id: 'RegisteredWebhook' },
)
export type RegisteredWebhook = Static<typeof RegisteredWebhook>

const Url = Type.String({ format: 'uri', maxLength: MAX_URL_LENGTH })
const Events = Type.Array(OneOf(SUBSCRIBABLE), {
  minItems: 1,
  maxItems: 100,
  description: 'Events, groups of events such as `user.*`, or `*` for all.',
})
const Secret = Type.String({
  minLength: 16,
  maxLength: 512,
  description:
    '`whsec_` followed by 24 to 64 bytes in base64, or any other text of at least 16 characters.',
})

export const NewWebhook = Type.Object({
  url: Url,
  events: Events,
  secret: Type.Optional(Secret),
})
export type NewWebhook = Static<typeof NewWebhook>

export const WebhookChange = Type.Object({
  url: Type.Optional(Url),
  events: Type.Optional(Events),
  is_active: Type.Optional(Type.Boolean()),
  secret: Type.Optional(Secret),
})
export type WebhookChange = Static<typeof WebhookChange>

const WebhookId = idOf('webhook', 5)
export const WebhookPath = Type.Object({ webhook_id: WebhookId })

export const EventDescription = Type.Object(
  {
    name: Type.String({ examples: ['user.created'] }),
    description: Type.String({ examples: ['A user was created'] }),
    example: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      additionalProperties: true,
      examples: [{ type: 'user.created', tenant_id: 3, data: { entry_id: 1001 } }],
      description: 'The complete body of a message.',
    }),
  },
  { $id: 'EventDescription' },
)
export type EventDescription = Static<typeof EventDescription>

const ShownError = Nullable(
  OneOf(SHOWN_ERRORS, {
    description: 'The error as a code for programs. Null after a successful attempt.',
  }),
)
const Detail = Nullable(Type.String({ description: 'The error as a sentence.' }))

export const TestResult = Type.Object(
  {
    delivered: Type.Boolean({ examples: [true] }),
    status_code: Nullable(Type.Integer({ examples: [200] })),
    duration_ms: Type.Integer({ examples: [41] }),
    error: ShownError,
    detail: Detail,
    response_body: Nullable(
      Type.String({ description: 'The first 1 KiB of the response.', examples: ['ok'] }),
    ),
    message_id: Type.String({ examples: ['msg_mhjt3e80_rt'] }),
  },
  { $id: 'WebhookTestResult' },
)
export type TestResult = Static<typeof TestResult>

const Attempt = Type.Object(
  {
    number: Type.Integer({ examples: [1] }),
    started_at: Timestamp,
    duration_ms: Type.Integer({ examples: [41] }),
    status_code: Nullable(Type.Integer({ examples: [200] })),
    error: ShownError,
    detail: Detail,
    address: Nullable(Type.String({ examples: ['198.51.100.20'] })),
    response_body: Nullable(Type.String({ examples: ['ok'] })),
  },
  { $id: 'WebhookAttempt' },
)
export type ShownAttempt = Static<typeof Attempt>

const STATUSES = ['pending', 'held', 'delivered', 'failed'] as const

const DELIVERY = {
  id: Id,
  webhook_id: Id,
  message_id: Type.String({ examples: ['msg_mhjt3e80_rt'] }),
  event: Type.String({ examples: ['user.created'] }),
  status: OneOf(STATUSES, {
    examples: ['delivered'],
    description:
      '`held`: waiting until the webhook is active again. `failed`: all attempts failed, so the delivery was abandoned.',
  }),
  attempts_count: Type.Integer({ examples: [1], description: 'The total number of attempts.' }),
  attempts: Type.Array(Attempt, { description: 'The latest 20 attempts, earliest first.' }),
  next_attempt_at: Nullable(Timestamp),
  created_at: Timestamp,
  finished_at: Nullable(Timestamp),
}

export const Delivery = Type.Object(DELIVERY, { $id: 'WebhookDelivery' })
export type Delivery = Static<typeof Delivery>

export const DeliveryDetails = Type.Object(
  {
    ...DELIVERY,
    request_headers: Type.Object(
      {
        'content-type': Type.String({ examples: ['application/json'] }),
        'webhook-id': Type.String({ examples: ['msg_mhjt3e80_rt'] }),
      },
      {
        description:
          'The headers that all attempts send. Each attempt adds `webhook-timestamp`, the second in which it started, and `webhook-signature`, which is not stored.',
      },
    ),
    request_body: Nullable(
      Type.String({
        description:
          'The body exactly as each attempt sends it. Null once its event has been deleted from the audit log.',
        examples: ['{"type":"user.created"}'],
      }),
    ),
  },
  { $id: 'WebhookDeliveryDetails' },
)
export type DeliveryDetails = Static<typeof DeliveryDetails>

export const DeliveryPage = pageOf(Delivery)

/** Defines the list of one webhook's deliveries. It rejects the cursors of other webhooks' lists. */
export const deliveryList = (webhookId?: number) =>
  defineList(`deliveries/${webhookId}`, { id: 'integer' }, { sort_by: 'id', sort_order: 'desc' })

const DateOrTime = Type.String({
  format: 'date-or-time',
  description: 'A date, which stands for the whole UTC day, or a date and time. Inclusive.',
})

export const DeliveryQuery = Type.Object({
  status: Type.Optional(OneOf(STATUSES, { description: 'Only deliveries of this status.' })),
  message_id: Type.Optional(
    Type.String({ maxLength: 64, description: 'Only deliveries with this `webhook-id`.' }),
  ),
  event: Type.Optional(OneOf(PUBLIC_ACTIONS, { description: 'Only deliveries of this event.' })),
  status_class: Type.Optional(
    OneOf(STATUS_CLASSES, {
      description:
        'Only deliveries whose last response had such a status. `2xx`: delivered. `none`: no response.',
    }),
  ),
  from_date: Type.Optional(DateOrTime),
  to_date: Type.Optional(DateOrTime),
  ...deliveryList().query,
})
export type DeliveryQuery = Static<typeof DeliveryQuery>

export const DeliveryPath = Type.Object({
  webhook_id: WebhookId,
  delivery_id: idOf('delivery', 611),
})

const SPAN = {
  since: Type.String({
    format: 'date-or-time',
    description: 'A date, which stands for its start in UTC, or a date and time. Inclusive.',
  }),
  until: Type.Optional(
    Type.String({
      format: 'date-or-time',
      description:
        'A date, which stands for its end in UTC, or a date and time. Inclusive. The default is now.',
    }),
  ),
  only_failed: Type.Optional(
    Type.Boolean({
      description:
        'True: only deliveries that failed for good. Otherwise all events of the period that the webhook subscribes to.',
    }),
  ),
}

export const ReplayOrder = Type.Object(SPAN)
export type ReplayOrder = Static<typeof ReplayOrder>

export const ReplayQuery = Type.Object(SPAN)

export const ReplayPreview = Type.Object(
  {
    since: Timestamp,
    until: Timestamp,
    count: Type.Integer({ minimum: 0, examples: [40] }),
    is_minimum: Type.Boolean({
      description: 'True if there may be more, because counting stops at 100,000 rows.',
    }),
  },
  { $id: 'WebhookReplayPreview' },
)
export type ReplayPreview = Static<typeof ReplayPreview>

export const Replay = Type.Object(
  {
    id: Id,
    webhook_id: Id,
    since: Timestamp,
    until: Timestamp,
    only_failed: Type.Boolean({ description: 'True if it queues failed deliveries only.' }),
    state: OneOf(['running', 'completed', 'cancelled', 'failed'], {
      examples: ['running'],
      description: '`running`: events are being queued. `completed`: all events are queued.',
    }),
    found: Type.Integer({
      examples: [40],
      description: 'The number of events found so far that the webhook subscribes to.',
    }),
    waiting: Type.Integer({
      examples: [2],
      description: 'The number of queued deliveries that are still waiting.',
    }),
    delivered: Type.Integer({ examples: [38] }),
    failed: Type.Integer({
      examples: [0],
      description: 'The number of deliveries that failed for good.',
    }),
    created_at: Timestamp,
    finished_at: Nullable(Timestamp),
  },
  { $id: 'WebhookReplay' },
)
export type Replay = Static<typeof Replay>

export const ReplayPath = Type.Object({ webhook_id: WebhookId, replay_id: idOf('replay', 2) })
