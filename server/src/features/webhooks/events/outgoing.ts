/** The messages sent to webhooks, as described in the OpenAPI document. */
import Type from 'typebox'
import { FreeForm, Id, Nullable, Timestamp } from '../../../lib/shapes.ts'
import { CATALOGUE } from './catalogue.ts'

const WebhookMessage = Type.Object(
  {
    type: Type.String({ description: 'The event.' }),
    timestamp: Timestamp,
    id: Type.String({ description: 'The same as the header `webhook-id`.' }),
    tenant_id: Id,
    data: Type.Object({
      entry_id: Type.Integer({ minimum: 1, description: 'The id of the entry in the audit log.' }),
      resource_type: Type.String(),
      resource_id: Nullable(Type.String()),
      user_id: Nullable(Id, { description: 'The user who acted, null for the service itself.' }),
      changes: Type.Optional(
        Nullable(FreeForm, { description: 'Values before and after. Left out for patients.' }),
      ),
    }),
  },
  { $id: 'WebhookMessage' },
)

/** The OpenAPI description of the messages, which follow Standard Webhooks (https://www.standardwebhooks.com). */
export const OUTGOING = {
  tag: 'Webhooks',
  headers: {
    'webhook-id': 'Identifies the message. Retries and replays of a message repeat it.',
    'webhook-timestamp': 'The time of this attempt, in seconds since 1970.',
    'webhook-signature': 'Signatures separated by spaces, one per secret: `v1,` and base64.',
  },
  body: WebhookMessage,
  events: CATALOGUE,
} as const
