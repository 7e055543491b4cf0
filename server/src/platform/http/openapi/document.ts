/** Builds the OpenAPI 3.1 document from the operations: all inputs, statuses, headers and bodies. */
import Type, { type TSchema } from 'typebox'
import { JsonBytes } from '../../../lib/json-bytes.ts'
import { TAGS, type Tag } from '../../../lib/tags.ts'
import { anyone } from '../../access/index.ts'
import { bodyLimitOf } from '../body-limit.ts'
import { fileOf } from '../download.ts'
import { NOT_MODIFIED } from '../etag.ts'
import { type AnyOperation, operation, takesBytes } from '../operation.ts'
import { NO_CONTENT, statusesOf } from '../refusals.ts'
import { descriptionOf } from './descriptions.ts'
import { type Outgoing, outgoingOf } from './outgoing.ts'
import { OF_ALL, refusalOf, type SharedRefusals } from './refusals.ts'
import { answerOf } from './samples.ts'
import { type Json, publish, whatMustBeSent } from './schemas.ts'

type ShowSchema = (schema: TSchema) => unknown

/** The named schemas of requests and of responses. If both use a schema, the document contains its response form. */
interface Named {
  sent: Json
  answered: Json
  shared: SharedRefusals
}

const HEADERS: Json = {
  RequestId: { description: 'Identifies the request in the log', schema: { type: 'string' } },
  RetryAfter: { description: 'Seconds to wait before a retry', schema: { type: 'integer' } },
  WwwAuthenticate: {
    description: 'The authentication challenge (RFC 6750)',
    schema: { type: 'string' },
  },
  RateLimit: {
    description: 'Remaining requests, and seconds until the limit resets',
    schema: { type: 'string' },
  },
  RateLimitPolicy: { description: 'Requests allowed per time window', schema: { type: 'string' } },
}

/** The content of the document that does not come from operations. */
interface About {
  version: string
  /** The messages that the service sends to webhook receivers. */
  outgoing?: Outgoing | undefined
}

export function openApiDocument(
  operations: readonly AnyOperation[],
  { version, outgoing }: About,
): Json {
  const named: Named = { sent: {}, answered: {}, shared: { responses: {}, examples: {} } }
  const events = new Set(outgoing?.events.map(({ name }) => name))
  const messages = outgoing && outgoingOf(outgoing, named.answered)
  const paths: Record<string, Json> = {}
  for (const op of operations) {
    const item = paths[op.path] ?? {}
    item[op.method.toLowerCase()] = {
      ...describe(op, named),
      description: descriptionOf(op, events),
    }
    paths[op.path] = item
  }
  const used = new Set(operations.map((op) => op.tag))
  const tags = (Object.keys(TAGS) as Tag[]).filter((tag) => used.has(tag))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Wardkeep',
      version,
      description: 'Multi-tenant administration, accounts and webhooks for clinical software.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    // The URL is relative to the document, so that it also works behind a proxy that adds a prefix.
    servers: [{ url: '.', description: 'This service' }],
    tags: tags.map((name) => ({ name, description: TAGS[name] })),
    paths: inOrder(paths),
    ...(messages ? { webhooks: messages } : {}),
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      headers: HEADERS,
      responses: inOrder(named.shared.responses),
      examples: inOrder(named.shared.examples),
      schemas: inOrder({ ...named.sent, ...named.answered }),
    },
  }
}

const inOrder = (entries: Json): Json =>
  Object.fromEntries(Object.entries(entries).sort(([a], [b]) => (a < b ? -1 : 1)))

function describe(op: AnyOperation, { sent, answered, shared }: Named): Json {
  const showSent = (schema: TSchema) => publish(schema, sent, whatMustBeSent)
  const showAnswered = (schema: TSchema) => publish(schema, answered)
  const responses = Object.fromEntries(
    statusesOf(op).map((status) => [
      status,
      status < 400 ? respond(op, status, showAnswered) : refusalOf(op, status, shared, answered),
    ]),
  )
  return {
    operationId: op.id,
    summary: op.summary,
    tags: [op.tag],
    security: op.access.roles ? [{ bearer: [] }] : [],
    ...(op.params || op.query || op.headers || op.etag
      ? {
          parameters: [
            ...parametersOf(op.params, 'path', showSent),
            ...parametersOf(op.query, 'query', showSent),
            ...headerParametersOf({ ...op.headers, ...(op.etag ? IF_NONE_MATCH : {}) }),
          ],
        }
      : {}),
    ...(op.body
      ? {
          requestBody: {
            required: !op.bodyOptional,
            content: takesBytes(op)
              ? { '*/*': withExample(ANY_OBJECT, op.example?.body) }
              : json(showSent(op.body), op.example?.body),
          },
        }
      : {}),
    ...(op.method === 'GET' ? {} : { 'x-body-limit': bodyLimitOf(op) }),
    responses,
  }
}

/** The schema of a body that the operation reads as raw bytes: JSON of any content type. */
const ANY_OBJECT = { type: 'object', additionalProperties: true }

const DESCRIBED: Readonly<Record<number, string>> = {
  206: 'A part',
  [NOT_MODIFIED]: 'Nothing has changed since the response with this entity tag',
}

const ETAG_HEADER = {
  description: 'The entity tag of the response. Send it as `If-None-Match` with the next request.',
  schema: { type: 'string' },
}
const TOTAL_HEADER = {
  description: 'The number of records on all pages.',
  schema: { type: 'integer' },
}
const IF_NONE_MATCH = { 'If-None-Match': 'The `ETag` of an earlier response.' }

function contentOf(op: AnyOperation, schema: TSchema, schemaOf: ShowSchema): Json {
  const file = fileOf(schema)
  if (!file) return json(schemaOf(schema), answerOf(op))
  if (file.textExamples) return textOf(file.textExamples)
  return file.content
    ? json(schemaOf(file.content), answerOf(op))
    : { [file.contentMediaType]: { schema: schemaOf(schema) } }
}

const textOf = (examples: Readonly<Record<string, string>>): Json =>
  Object.fromEntries(
    Object.entries(examples).map(([type, example]) => [
      type,
      withExample({ type: 'string' }, example),
    ]),
  )

const json = (schema: unknown, example: unknown): Json => ({
  'application/json': withExample(schema, example),
})

const withExample = (schema: unknown, example: unknown): Json => ({
  schema,
  ...(example === undefined ? {} : { example }),
})

function respond(op: AnyOperation, status: number, schemaOf: ShowSchema): Json {
  const schema = status === NO_CONTENT || status === NOT_MODIFIED ? null : op.success[1]
  return {
    description: DESCRIBED[status] ?? (schema === null ? 'Success without a body' : 'Done'),
    headers: {
      ...OF_ALL,
      ...(op.etag ? { ETag: ETAG_HEADER } : {}),
      ...(op.countsTotal ? { 'X-Total-Count': TOTAL_HEADER } : {}),
    },
    ...(schema === null ? {} : { content: contentOf(op, schema, schemaOf) }),
  }
}

function parametersOf(
  schema: TSchema | undefined,
  where: 'path' | 'query',
  schemaOf: ShowSchema,
): Json[] {
  const { properties = {}, required = [] } = whatMustBeSent(schema ?? {})
  return Object.entries(properties).map(([name, { description, ...property }]) => ({
    name,
    in: where,
    required: where === 'path' || required.includes(name),
    description,
    schema: schemaOf(property),
  }))
}

function headerParametersOf(headers: AnyOperation['headers'] = {}): Json[] {
  return Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }))
}

/** Returns the operation `/openapi.json`. Its document describes `operations` and the operation itself. */
export function openapiOperation(operations: readonly AnyOperation[], about: About): AnyOperation {
  const self: AnyOperation = operation({
    method: 'GET',
    path: '/openapi.json',
    id: 'getOpenApi',
    summary: 'Get this document',
    description: 'Returns the OpenAPI 3.1 description of the service.',

    tag: 'Health',
    access: anyone,
    success: [200, Type.Unsafe<Json>({ type: 'object', additionalProperties: true })],
    handle: () => document(),
  })
  let made: JsonBytes<Json> | undefined
  const document = () => {
    made ??= new JsonBytes(openApiDocument([...operations, self], about))
    return made
  }
  return self
}
