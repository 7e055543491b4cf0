/** Messages that the service sends to receivers: the `webhooks` of the document. */
import type { TSchema } from 'typebox'
import type { Tag } from '../../../lib/tags.ts'
import { type Json, publish } from './schemas.ts'

/** An event that receivers can subscribe to, with the body of a message about it. */
export interface OutgoingEvent {
  name: string
  description: string
  example: object
}

/** Messages of one shape. */
export interface Outgoing {
  tag: Tag
  /** The headers of a message, each with what it holds. */
  headers: Readonly<Record<string, string>>
  /** The schema of the body, with a `$id`. */
  body: TSchema
  events: readonly OutgoingEvent[]
}

/** The `webhooks` object of the document, with an example of every event; adds the body to `schemas`. */
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
      410: { description: 'The receiver is gone. The webhook is deactivated.' },
    },
  }
  return { event: { post } }
}
