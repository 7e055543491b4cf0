/** The OpenAPI 3.1 document, made from the operations: every input, status, header and body. */
import Type, { type TSchema } from 'typebox'
import { JsonBytes } from '../../../lib/json-bytes.ts'
import { TAGS, type Tag } from '../../../lib/tags.ts'
import { anyone } from '../../access/index.ts'
import { bodyLimitOf } from '../body-limit.ts'
import { fileOf } from '../download.ts'
import { type AnyOperation, operation } from '../operation.ts'
import { takesBytes } from '../raw-body.ts'
import { NO_CONTENT, statusesOf } from '../refusals.ts'
import { descriptionOf } from './descriptions.ts'
import { type Outgoing, outgoingOf } from './outgoing.ts'
import { OF_ALL, refusalOf, type SharedRefusals } from './refusals.ts'
import { answerOf } from './samples.ts'
import { type Json, publish, whatMustBeSent } from './schemas.ts'

type ShowSchema = (schema: TSchema) => unknown

/** Named schemas by their use; where both use one, it is shown as it is answered. */
interface Named {
  sent: Json
  answered: Json
  shared: SharedRefusals
}

const HEADERS: Json = {
  RequestId: { description: 'Finds the request in the log', schema: { type: 'string' } },
  RetryAfter: { description: 'Seconds to wait before trying again', schema: { type: 'integer' } },
  WwwAuthenticate: { description: 'RFC 6750 challenge', schema: { type: 'string' } },
  RateLimit: { description: 'Requests left and seconds until more', schema: { type: 'string' } },
  RateLimitPolicy: { description: 'Requests allowed in a window', schema: { type: 'string' } },
}

/** What the document says beside the operations. */
interface About {
  /** The version of the service. */
  version: string
  /** The messages that the service sends to receivers. */
  outgoing?: Outgoing | undefined
}

/** Builds the document of the operations. */
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
    // Relative to the document: right behind a proxy that adds a prefix as well.
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
    ...(op.params || op.query || op.headers
      ? {
          parameters: [
            ...parametersOf(op.params, 'path', showSent),
            ...parametersOf(op.query, 'query', showSent),
            ...headerParametersOf(op.headers),
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

/** The schema of a body that is taken as bytes: JSON of any content type. */
const ANY_OBJECT = { type: 'object', additionalProperties: true }

const PARTIAL = 206

function contentOf(op: AnyOperation, schema: TSchema, schemaOf: ShowSchema): Json {
  const file = fileOf(schema)
  if (!file) return json(schemaOf(schema), answerOf(op))
  return file.content
    ? json(schemaOf(file.content), answerOf(op))
    : { [file.contentMediaType]: { schema: schemaOf(schema) } }
}

const json = (schema: unknown, example: unknown): Json => ({
  'application/json': withExample(schema, example),
})

const withExample = (schema: unknown, example: unknown): Json => ({
  schema,
  ...(example === undefined ? {} : { example }),
})

function respond(op: AnyOperation, status: number, schemaOf: ShowSchema): Json {
  const schema = status === NO_CONTENT ? null : op.success[1]
  return {
    description: schema === null ? 'Done; no body' : status === PARTIAL ? 'A part' : 'Done',
    headers: OF_ALL,
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

/** `/openapi.json`: the document of `operations` and of itself. */
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
