/** Describes the messages that the service sends to webhook receivers: the `webhooks` of the OpenAPI document. */
import type { TSchema } from 'typebox'
import type { Tag } from '../../../lib/tags.ts'
import { type Json, publish } from './schemas.ts'

/** An event that receivers can subscribe to, with an example of its message body. */
export interface OutgoingEvent {
  name: string
  description: string
  example: object
}

/** The messages to webhook receivers. All events share the headers and the body schema. */
export interface Outgoing {
  tag: Tag
  /** The names of the message headers with their descriptions. */
  headers: Readonly<Record<string, string>>
  body: TSchema
  events: readonly OutgoingEvent[]
}

/** Returns the `webhooks` object of the document with an example of every event. Adds the body schema to `schemas`. */
export function outgoingOf({ tag, headers, body, events }: Outgoing, schemas: Json): Json {
  const post = {
    operationId: 'receiveEvent',
    summary: 'Receive an event',
    description: 'Sent to the URL of every webhook that subscribes to the event.',
    tags: [tag],
    security: [],
    parameters: Object.entries(headers).map(([name, description]) => ({
      name,
      in: 'header',
      required: true,
      description,
      schema: { type: 'string' },
    })),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: publish(body, schemas),
          examples: Object.fromEntries(
            events.map(({ name, description, example }) => [
              name,
              { summary: description, value: example },
            ]),
          ),
        },
      },
    },
    responses: {
      '2XX': { description: 'Received. After any other status the delivery is retried.' },
      410: { description: 'The receiver no longer exists. The webhook is deactivated.' },
    },
  }
  return { event: { post } }
}
