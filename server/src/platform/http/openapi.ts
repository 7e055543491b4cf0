/** The OpenAPI 3.1 document, made from the operations: every input, status, header and body. */
import Type, { type TSchema } from 'typebox'
import { JsonBytes } from '../../lib/json-bytes.ts'
import { PROBLEMS } from '../../lib/problems.ts'
import { InvalidBody, ProblemBody } from '../../lib/shapes.ts'
import { anyone } from '../access/index.ts'
import { bodyLimitOf, showBytes } from './body-limit.ts'
import { fileOf } from './download.ts'
import { type AnyOperation, operation, statusesOf } from './operation.ts'
import { takesBytes } from './raw-body.ts'

type Json = Record<string, unknown>
type ShowSchema = (schema: TSchema) => unknown

/** Named schemas by their use; where both use one, it is shown as it is answered. */
interface Named {
  sent: Json
  answered: Json
}

/** Keywords of our own that mean nothing to readers of the document. */
const INTERNAL = new Set([
  'trim',
  'unquoted',
  'undirected',
  'asciiDomain',
  'freeForm',
  'eachOf',
  'noneOf',
  '$id',
  'ranges',
])

const HEADERS: Json = {
  RequestId: { description: 'Finds the request in the log', schema: { type: 'string' } },
  RetryAfter: { description: 'Seconds to wait before trying again', schema: { type: 'integer' } },
  WwwAuthenticate: { description: 'RFC 6750 challenge', schema: { type: 'string' } },
  RateLimit: { description: 'Requests left and seconds until more', schema: { type: 'string' } },
  RateLimitPolicy: { description: 'Requests allowed in a window', schema: { type: 'string' } },
}

const header = (name: string): Json => ({ $ref: `#/components/headers/${name}` })

const MEANING: Record<number, string> = {
  400: 'The request or its link is not acceptable',
  401: 'Not authenticated',
  403: 'Not allowed',
  404: 'No such record, or not yours',
  409: 'Conflicts with the state of things',
  415: 'The body is encoded',
  416: 'The file has no such part',
  422: 'The input is invalid',
  429: 'Too many requests',
  500: 'A fault of the service',
  503: 'The database is away or the service is busy',
}

/** Builds the document of the operations; `version` is the service's. */
export function openApiDocument(operations: readonly AnyOperation[], version: string): Json {
  const named: Named = { sent: {}, answered: {} }
  const paths: Record<string, Json> = {}
  for (const op of operations) {
    const item = paths[op.path] ?? {}
    item[op.method.toLowerCase()] = describe(op, named)
    paths[op.path] = item
  }
  const schemas = { ...named.sent, ...named.answered }
  const tags = [...new Set(operations.map((op) => op.tag))].sort()
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
    tags: tags.map((name) => ({ name, description: `Operations on ${name.toLowerCase()}` })),
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1))),
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      headers: HEADERS,
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  }
}

function describe(op: AnyOperation, { sent, answered }: Named): Json {
  const showSent = (schema: TSchema) => publish(schema, sent, whatMustBeSent)
  const showAnswered = (schema: TSchema) => publish(schema, answered)
  const responses = Object.fromEntries(
    statusesOf(op).map((status) => [status, respond(op, status, showAnswered)]),
  )
  return {
    operationId: op.id,
    summary: op.summary,
    tags: [op.tag],
    description: op.access.roles ? `Who may call: ${op.access.name}.` : 'Takes no token.',
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
            content: takesBytes(op) ? ANY_TYPE : json(showSent(op.body)),
          },
        }
      : {}),
    ...(op.method === 'GET' ? {} : { 'x-body-limit': bodyLimitOf(op) }),
    responses,
  }
}

/** Every type of body is taken where its bytes are; what is in them is JSON all the same. */
const ANY_TYPE: Json = { '*/*': { schema: { type: 'object', additionalProperties: true } } }

const PARTIAL = 206

const contentOf = (schema: TSchema, schemaOf: ShowSchema): Json => {
  const file = fileOf(schema)
  if (!file) return json(schemaOf(schema))
  return file.content
    ? json(schemaOf(file.content))
    : { [file.contentMediaType]: { schema: schemaOf(schema) } }
}

const json = (schema: unknown): Json => ({ 'application/json': { schema } })

function respond(op: AnyOperation, status: number, schemaOf: ShowSchema): Json {
  const [success, schema] = op.success
  const headers = { 'X-Request-Id': header('RequestId'), ...headersOf(op, status) }
  if (status === success || status === PARTIAL)
    return {
      description: schema === null ? 'Done; no body' : status === PARTIAL ? 'A part' : 'Done',
      headers,
      ...(schema === null ? {} : { content: contentOf(schema, schemaOf) }),
    }
  const codes = Object.entries(PROBLEMS).flatMap(([code, [of]]) => (of === status ? [code] : []))
  return {
    description: `${status === 413 ? `The body is larger than ${showBytes(bodyLimitOf(op))}` : MEANING[status]}${codes.length > 0 ? ` (${codes.join(', ')})` : ''}`,
    headers,
    content: json(schemaOf(status === 422 ? InvalidBody : ProblemBody)),
  }
}

function headersOf(op: AnyOperation, status: number): Json {
  return {
    RateLimit: header('RateLimit'),
    'RateLimit-Policy': header('RateLimitPolicy'),
    ...(status === 401 && op.access.roles ? { 'WWW-Authenticate': header('WwwAuthenticate') } : {}),
    ...(status === 429 || status === 503 ? { 'Retry-After': header('RetryAfter') } : {}),
  }
}

function parametersOf(
  schema: TSchema | undefined,
  where: 'path' | 'query',
  schemaOf: ShowSchema,
): Json[] {
  const { properties = {}, required = [] } = whatMustBeSent(schema ?? {})
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: where,
    required: where === 'path' || required.includes(name),
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

interface Fields {
  properties?: Record<string, TSchema>
  required?: string[]
}

/** The schema asking for less: what has a default is there in the end, but nobody need send it. */
function whatMustBeSent(schema: object): Fields {
  const { properties, required, ...others } = schema as Fields
  // In a list of properties these are properties that happen to be named so.
  if (!properties || !Array.isArray(required)) return schema
  const asked = required.filter((name) => !('default' in (properties[name] ?? {})))
  return { ...others, ...(asked.length > 0 ? { required: asked } : {}), properties }
}

/**
 * A schema as the document shows it: named ones as references, our own keywords left out.
 * @param adapt changes each schema in it before it is shown
 */
function publish(
  schema: unknown,
  components: Json,
  adapt = (inner: object): object => inner,
): unknown {
  if (Array.isArray(schema)) return schema.map((inner) => publish(inner, components, adapt))
  if (typeof schema !== 'object' || schema === null) return schema
  const { $id } = schema as { $id?: string }
  const shown = Object.fromEntries(
    Object.entries(adapt(schema))
      .filter(([key]) => !INTERNAL.has(key))
      .map(([key, inner]) => [key, publish(inner, components, adapt)]),
  )
  if (!$id) return shown
  components[$id] = shown
  return { $ref: `#/components/schemas/${$id}` }
}

/** `/openapi.json`: the document of `operations` and of itself. */
export function openapiOperation(
  operations: readonly AnyOperation[],
  version: string,
): AnyOperation {
  const self: AnyOperation = operation({
    method: 'GET',
    path: '/openapi.json',
    id: 'getOpenApi',
    summary: 'This description of the service (OpenAPI 3.1)',
    tag: 'Health',
    access: anyone,
    success: [200, Type.Unsafe<Json>({ type: 'object', additionalProperties: true })],
    handle: () => document(),
  })
  let made: JsonBytes<Json> | undefined
  const document = () => {
    made ??= new JsonBytes(openApiDocument([...operations, self], version))
    return made
  }
  return self
}
