/** Turns operations into Fastify routes: rate limit, authentication, access, input, handler and status. */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { Counted } from '../../lib/counted.ts'
import { JsonBytes, JsonText } from '../../lib/json-bytes.ts'
import { PROBLEMS, Problem } from '../../lib/problems.ts'
import { InvalidBody, ProblemBody } from '../../lib/shapes.ts'
import type { Time } from '../../lib/time.ts'
import { type Caller, type Identity, type Origin, requireRole } from '../access/index.ts'
import type { Conflicts, RequireAvailable } from '../db/index.ts'
import { isWithin } from '../net/index.ts'
import type { Logger } from '../observe/log.ts'
import { addressOf } from './address.ts'
import { bodyLimitOf, takesLongBodies } from './body-limit.ts'
import { browserSession, requireSameOrigin } from './browser-session.ts'
import { type CallerQueue, callerQueue } from './caller-queue.ts'
import { type Download, fileOf, sendDownload } from './download.ts'
import { sendError, toAnswer } from './errors.ts'
import { etagOf, matchesEtag, NOT_MODIFIED } from './etag.ts'
import { whenDone } from './every-request.ts'
import { type Input, inputReader, REST_OF_PATH } from './input.ts'
import { type AnyOperation, takesBytes } from './operation.ts'
import type { Limits } from './rate-limit.ts'
import { codesOf, isForOwnPages, NO_CONTENT, REFUSED_WHILE, statusesOf } from './refusals.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The operation of the route. A route with neither an operation nor `isPage` makes startup fail. */
    operation?: AnyOperation
    takesBody?: boolean
    /** True if the operation receives the body as raw bytes, with any content type. */
    takesBytes?: boolean
    /** True for a static page or a redirect. It needs no authentication. */
    isPage?: boolean
  }
  interface FastifyRequest {
    caller: Caller | null
  }
}

export interface Guards {
  /** Returns the identity that a bearer token belongs to. @throws Problem 401 */
  authenticate(token: string): Promise<Identity> | Identity
  /** Requires a recent password entry in a browser session. @throws Problem 403 otherwise */
  requireConfirmed(caller: Caller): Promise<void>
  /** Journals the rejection of a signed-in caller before the response: every 403, and errors that reveal a record. */
  refused(caller: Caller, operation: AnyOperation, problem: Problem): Promise<void>
  /** Throws while the tenant, or the whole service, is in maintenance mode. */
  requireAvailable: RequireAvailable
  limits: Limits
  /** The public address at which browsers reach the service. */
  publicUrl: URL
  log: Logger
  clock: Pick<Time, 'monotonic'>
  conflicts?: Conflicts
}

/** Registers the operations, and an error handler that answers their errors. */
export function addOperations(
  app: FastifyInstance,
  operations: readonly AnyOperation[],
  guards: Guards,
): void {
  const lists = callerQueue('lists', guards.clock)
  const longWrites = callerQueue('updates of free-form objects', guards.clock)
  for (const op of operations) {
    const queue = op.list ? lists : takesLongBodies(op) ? longWrites : undefined
    addOperation(app, op, guards, queue)
  }
  const declared = new Map(operations.map((op) => [op, new Set(codesOf(op))]))
  app.setErrorHandler(async (error, request, reply) => {
    const { caller } = request
    const { operation } = request.routeOptions.config
    const answer = toAnswer(error, request, guards.conflicts)
    if (operation && answer instanceof Problem) {
      const { code } = answer
      if (!declared.get(operation)?.has(code))
        guards.log.error({ code, operation: operation.id, req_id: request.id }, UNDECLARED)
      const isJournaled = caller && (answer.status === 403 || answer.isRevealing)
      try {
        if (isJournaled) await guards.refused(caller, operation, answer)
      } catch (failure) {
        // If a rejection cannot be journaled, the response is the error of the journal instead.
        return sendError(failure, request, reply, guards.log)
      }
    }
    return sendError(answer, request, reply, guards.log)
  })
}

/** The log message for an error code that the operation does not declare. Such a code is a bug in the service. */
export const UNDECLARED = 'undeclared refusal'

/** Makes startup fail if a route has no access rules. @throws Error if a route is neither an operation nor a page */
export function requireOperations(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (!route.config?.operation && !route.config?.isPage)
      throw new Error(
        `the route ${route.method} ${route.url} declares no operation and so no access`,
      )
  })
}

/** Registers the route of an operation. @param queue limits how many requests a caller can run simultaneously */
function addOperation(
  app: FastifyInstance,
  op: AnyOperation,
  guards: Guards,
  queue?: CallerQueue,
): void {
  const statuses = new Set(statusesOf(op))
  app.route({
    method: op.method,
    url: urlOf(op),
    config: { operation: op, takesBody: op.body !== undefined, takesBytes: takesBytes(op) },
    bodyLimit: bodyLimitOf(op),
    exposeHeadRoute: op.method === 'GET',
    schema: { response: responseSchemas(op) },
    onRequest: (request, reply, done) => whenDone(guard(op, guards, request, reply), done),
    // Checks access again after the body has arrived, because the caller may have been blocked in the meantime.
    ...(op.method === 'GET'
      ? {}
      : { preHandler: (request, _reply, done) => whenDone(authorize(op, guards, request), done) }),
    handler: handlerOf(op, guards, queue),
    onSend: (request, reply, payload, done) => {
      if (statuses.has(reply.statusCode))
        return done(null, op.etag ? unlessSeen(request, reply, payload) : payload)
      guards.log.error(
        { status: reply.statusCode, operation: op.id, req_id: request.id },
        'undeclared status',
      )
      reply.code(500)
      done(null, JSON.stringify({ detail: PROBLEMS.internal[1], code: 'internal' }))
    },
  })
}

/** Returns the URL pattern of an operation in Fastify's notation. */
function urlOf({ path, lastParamHasSlashes }: AnyOperation): string {
  const url = path.replaceAll(/\{(\w+)\}/g, ':$1')
  return lastParamHasSlashes ? url.replace(/:\w+$/, REST_OF_PATH) : url
}

/** Sets the entity tag of a successful response. Returns null, with status 304, if the client has this response. */
function unlessSeen({ headers }: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
  if (reply.statusCode !== OK || typeof payload !== 'string') return payload
  const etag = etagOf(payload)
  reply.header('etag', etag)
  if (!matchesEtag(headers['if-none-match'], etag)) return payload
  reply.code(NOT_MODIFIED).removeHeader('content-type').removeHeader('content-length')
  return null
}

/**
 * Checks network, token, role and write limits. Returns a promise only if necessary, because an extra turn of the event
 * loop costs as much as all checks together.
 */
function guard(
  op: AnyOperation,
  guards: Guards,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> | undefined {
  refuseStrangers(op, request)
  if (isForOwnPages(op)) requireSameOrigin(request, guards.publicUrl)
  const authorized = authorize(op, guards, request)
  if ((op.method === 'GET' && !op.countsAsWrite) || op.isRead) return authorized
  const count = () => countWrite(op, guards, request, reply)
  return authorized === undefined ? count() : authorized.then(count)
}

/** @throws Problem 403 for an address that may not call the operation */
function refuseStrangers({ onlyFrom }: AnyOperation, request: FastifyRequest): void {
  const networks = onlyFrom?.()
  if (networks && !isWithin(networks, addressOf(request))) throw new Problem('sender_not_allowed')
}

function countWrite(
  { endsAccess }: AnyOperation,
  { limits: { userWrites, tenantWrites, revocations } }: Guards,
  { caller }: FastifyRequest,
  reply: FastifyReply,
): Promise<void> | undefined {
  if (!caller) return undefined
  if (endsAccess) return revocations.take(caller.session_id, reply)
  // Counts against the user's limit first, so that a rejected call does not use up the tenant's limit.
  const counted = userWrites.take(String(caller.user_id), reply)
  const ofTenant = () => tenantWrites.take(String(caller.tenant_id), reply)
  return counted === undefined ? ofTenant() : counted.then(ofTenant)
}

function authorize(
  op: AnyOperation,
  guards: Guards,
  request: FastifyRequest,
): Promise<void> | undefined {
  if (!op.access.roles) return refuseInMaintenance(op, guards, null)
  const authenticated = guards.authenticate(bearerToken(request))
  const accept = (identity: Identity) => {
    request.caller = callerOf(identity, request)
    const { restriction } = identity
    if (restriction && !op.whileRestricted?.includes(restriction))
      throw new Problem(REFUSED_WHILE[restriction])
    requireRole(op.access, request.caller)
    return refuseInMaintenance(op, guards, identity.tenant_id)
  }
  return authenticated instanceof Promise ? authenticated.then(accept) : accept(authenticated)
}

/**
 * @param tenantId null without a tenant @throws Problem 503 in maintenance mode, unless the operation stays available
 */
function refuseInMaintenance(
  op: AnyOperation,
  { requireAvailable }: Guards,
  tenantId: number | null,
) {
  return op.duringMaintenance ? undefined : requireAvailable(tenantId)
}

function callerOf(identity: Identity, request: FastifyRequest): Caller {
  return { ...identity, origin: originOf(request) }
}

/** Returns the bearer token (RFC 6750 §2.1). The scheme is case-insensitive (RFC 9110 §11.1). @throws Problem 401 */
function bearerToken(request: FastifyRequest): string {
  const header = request.headers.authorization
  if (!header) throw new Problem('not_authenticated')
  if (header.slice(0, 7).toLowerCase() !== 'bearer ')
    throw new Problem('not_authenticated', {
      detail: 'Not authenticated. Send the access token as Authorization: Bearer.',
    })
  return header.slice(7).trim()
}

function originOf(request: FastifyRequest): Origin {
  return {
    ip: addressOf(request),
    // Computed on access only, because most requests record nothing.
    get user_agent() {
      const agent = request.headers['user-agent']
      return agent ? agent.toWellFormed().replaceAll('\0', '').slice(0, 400) : null
    },
    request_id: request.id,
  }
}

const OK = 200
const TOTAL_COUNT = 'x-total-count'
const JSON_TYPE = 'application/json; charset=utf-8'

/** @param queue limits how many requests a caller can run simultaneously */
function handlerOf(op: AnyOperation, guards: Guards, queue?: CallerQueue): RouteHandlerMethod {
  const readInput = inputReader(op)
  const [status, schema] = op.success
  const file = fileOf(schema)
  return (request, reply) => {
    const send = (value: unknown) => {
      if (op.mayBeEmpty && value === undefined) return reply.code(NO_CONTENT).send()
      reply.code(status)
      if (file) return sendDownload(request, reply, file, value as Download)
      if (value instanceof Counted) return reply.header(TOTAL_COUNT, value.total).send(value.items)
      if (value instanceof JsonText) return reply.type(JSON_TYPE).send(value.text)
      if (value instanceof JsonBytes) return sendBytes(request, reply, value)
      return reply.send(schema === null ? undefined : value)
    }
    const { caller } = request
    const answer = readInput(request, caller, (input) => {
      const origin = caller?.origin ?? originOf(request)
      const host = request.headers.host ?? ''
      const headers = headersOf(op, request)
      const cookie = () => {
        if (!op.browserSession) throw new Error(`${op.id} declares no browserSession`)
        return browserSession(request, reply)
      }
      const call = { ...input, caller, origin, host, headers, browserSession: cookie }
      const handle = () =>
        caller && isFinal(op, input)
          ? guards.requireConfirmed(caller).then(() => op.handle(call))
          : op.handle(call)
      if (!queue || !caller) return handle()
      return queue.run(caller.user_id, async () => {
        // The caller may have been signed out while waiting.
        await authorize(op, guards, request)
        return handle()
      })
    })
    return answer instanceof Promise ? answer.then(send) : send(answer)
  }
}

const isFinal = (op: AnyOperation, input: Input): boolean =>
  typeof op.isFinal === 'function' ? op.isFinal(input) : op.isFinal === true

function sendBytes(request: FastifyRequest, reply: FastifyReply, value: JsonBytes<unknown>) {
  const { bytes, encoding } = value.for(request.headers['accept-encoding'])
  if (encoding) reply.header('content-encoding', encoding)
  return reply.header('vary', 'accept-encoding').type(JSON_TYPE).send(bytes)
}

const NO_HEADERS = Object.freeze({})

function headersOf({ headers }: AnyOperation, { raw: { rawHeaders } }: FastifyRequest) {
  if (!headers) return NO_HEADERS
  // Raw headers alternate names (even indexes) and values.
  const valuesOf = (wanted: string) =>
    rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === wanted)
  return Object.fromEntries(
    Object.keys(headers).map((name) => [name, valuesOf(name.toLowerCase())]),
  )
}

/** Returns the response schemas for the serializer. The serializer drops undeclared fields from every response. */
function responseSchemas(op: AnyOperation): Record<string, unknown> {
  const [status, schema] = op.success
  const refusals = statusesOf(op)
    .filter(isRefusal)
    .map((refusal) => [refusal, anonymous(refusal === 422 ? InvalidBody : ProblemBody)])
  return {
    ...Object.fromEntries(refusals),
    // Files are streamed, so they need no serializer.
    ...(op.mayBeEmpty ? { [NO_CONTENT]: { type: 'null' } } : {}),
    ...(fileOf(schema) ? {} : { [status]: schema ? anonymous(schema) : { type: 'null' } }),
  }
}

const isRefusal = (status: number) => status >= 400

/** Returns the schema without its names, which Fastify would require to be unique. */
function anonymous(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema, (key, value) => (key === '$id' ? undefined : value)))
}
