/** Turns operations into Fastify routes: rate limit, authentication, access, input, handler, status. */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { JsonBytes } from '../../lib/json-bytes.ts'
import { JsonText } from '../../lib/json-text.ts'
import { PROBLEMS, Problem } from '../../lib/problems.ts'
import { InvalidBody, ProblemBody } from '../../lib/shapes.ts'
import type { Time } from '../../lib/time.ts'
import type { Caller, Identity, Origin } from '../access/index.ts'
import { requireRole } from '../access/index.ts'
import type { Conflicts, RequireOpen } from '../db/index.ts'
import { isWithin } from '../net/index.ts'
import type { Logger } from '../observe/log.ts'
import { addressOf } from './address.ts'
import { whenDone } from './arrival.ts'
import { bodyLimitOf, takesLongBodies } from './body-limit.ts'
import { browserSession, requireSameOrigin } from './browser-session.ts'
import { type Download, fileOf, sendDownload } from './download.ts'
import { sendError, toAnswer } from './errors.ts'
import { type FewAtOnce, fewAtOnce } from './few-at-once.ts'
import { inputReader } from './input.ts'
import type { AnyOperation } from './operation.ts'
import type { Limits } from './rate-limit.ts'
import { takesBytes } from './raw-body.ts'
import { codesOf, NO_CONTENT, REFUSED_WHILE, statusesOf } from './refusals.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The operation behind the route; a route without one stops the boot. */
    operation?: AnyOperation
    takesBody?: boolean
    /** Its body is handed on as it came, of whatever type. */
    takesBytes?: boolean
    /** A static page or a redirect for everyone. */
    isPage?: boolean
  }
  interface FastifyRequest {
    caller: Caller | null
  }
}

/** What the composition root hands to the routes. */
export interface Guards {
  /** The identity behind a bearer token. @throws Problem 401 */
  authenticate(token: string): Promise<Identity> | Identity
  /** Journals every 403, and every refusal that reveals what exists, to a signed-in caller before the answer. */
  refused(caller: Caller, operation: AnyOperation, problem: Problem): Promise<void>
  /** Refuses while a restore has closed the service for a tenant, or for all. */
  requireOpen: RequireOpen
  limits: Limits
  /** Where browsers reach the service. */
  publicUrl: URL
  log: Logger
  clock: Pick<Time, 'monotonic'>
  /** What the breaking of a constraint means. */
  conflicts?: Conflicts
}

/** Registers the operations, and answers what they throw. */
export function addOperations(
  app: FastifyInstance,
  operations: readonly AnyOperation[],
  guards: Guards,
): void {
  const lists = fewAtOnce('lists', guards.clock)
  const longWrites = fewAtOnce('changes of free-form objects', guards.clock)
  for (const op of operations) {
    const few = op.list ? lists : takesLongBodies(op) ? longWrites : undefined
    addOperation(app, op, guards, few)
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
        // A refusal that cannot be journaled is not answered as if it were.
        return sendError(failure, request, reply, guards.log)
      }
    }
    return sendError(answer, request, reply, guards.log)
  })
}

/** Logged where an operation answers a refusal that it does not declare: a fault of the service. */
export const UNDECLARED = 'undeclared refusal'

/** @throws Error at boot when a route was registered that declares no operation */
export function requireOperations(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (!route.config?.operation && !route.config?.isPage)
      throw new Error(
        `the route ${route.method} ${route.url} declares no operation and so no access`,
      )
  })
}

/** @param few lets a caller have few of its requests under way at once */
function addOperation(
  app: FastifyInstance,
  op: AnyOperation,
  guards: Guards,
  few?: FewAtOnce,
): void {
  const statuses = new Set(statusesOf(op))
  app.route({
    method: op.method,
    url: op.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: { operation: op, takesBody: op.body !== undefined, takesBytes: takesBytes(op) },
    bodyLimit: bodyLimitOf(op),
    exposeHeadRoute: op.method === 'GET',
    schema: { response: responseSchemas(op) },
    onRequest: (request, reply, done) => whenDone(guard(op, guards, request, reply), done),
    // Once more when the body is here: whoever sent it slowly may have been blocked meanwhile.
    ...(op.method === 'GET'
      ? {}
      : { preHandler: (request, _reply, done) => whenDone(authorize(op, guards, request), done) }),
    handler: handlerOf(op, few, (request) => authorize(op, guards, request)),
    onSend: (request, reply, payload, done) => {
      if (statuses.has(reply.statusCode)) return done(null, payload)
      guards.log.error(
        { status: reply.statusCode, operation: op.id, req_id: request.id },
        'undeclared status',
      )
      reply.code(500)
      done(null, JSON.stringify({ detail: PROBLEMS.internal[1], code: 'internal' }))
    },
  })
}

/**
 * The sender's network, token, role, and the limits of those who write. What is held in memory is there at once: only where
 * something must be waited for is there a promise, as a turn of the event loop costs as much as the whole
 * check.
 */
function guard(
  op: AnyOperation,
  guards: Guards,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> | undefined {
  refuseStrangers(op, request)
  if (op.browserSession) requireSameOrigin(request, guards.publicUrl)
  const authorized = authorize(op, guards, request)
  if ((op.method === 'GET' && !op.countsAsWrite) || op.isRead) return authorized
  const count = () => countWrite(op, guards, request, reply)
  return authorized === undefined ? count() : authorized.then(count)
}

/** @throws Problem 403 for an address that the operation may not be called from */
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
  // The user first: what is refused to one is not taken from their tenant.
  const counted = userWrites.take(String(caller.user_id), reply)
  const ofTenant = () => tenantWrites.take(String(caller.tenant_id), reply)
  return counted === undefined ? ofTenant() : counted.then(ofTenant)
}

function authorize(
  op: AnyOperation,
  guards: Guards,
  request: FastifyRequest,
): Promise<void> | undefined {
  if (!op.access.roles) return refuseWhileClosed(op, guards, null)
  const proven = guards.authenticate(bearerToken(request))
  const accept = (identity: Identity) => {
    request.caller = callerOf(identity, request)
    const { restriction } = identity
    if (restriction && !op.whileRestricted?.includes(restriction))
      throw new Problem(REFUSED_WHILE[restriction])
    requireRole(op.access, request.caller)
    return refuseWhileClosed(op, guards, identity.tenant_id)
  }
  return proven instanceof Promise ? proven.then(accept) : accept(proven)
}

/** @throws Problem 503 while a restore has closed the service for the tenant; null for who has none yet */
function refuseWhileClosed(op: AnyOperation, { requireOpen }: Guards, tenantId: number | null) {
  return op.whileClosed ? undefined : requireOpen(tenantId)
}

function callerOf(identity: Identity, request: FastifyRequest): Caller {
  return { ...identity, origin: originOf(request) }
}

/** RFC 6750 §2.1; the scheme's case does not matter (RFC 9110 §11.1). */
function bearerToken(request: FastifyRequest): string {
  const header = request.headers.authorization
  if (!header) throw new Problem('not_authenticated')
  if (header.slice(0, 7).toLowerCase() !== 'bearer ')
    throw new Problem('not_authenticated', {
      detail: 'Send the access token as Authorization: Bearer',
    })
  return header.slice(7).trim()
}

function originOf(request: FastifyRequest): Origin {
  return {
    ip: addressOf(request),
    // Most requests write nothing, and then nobody asks.
    get user_agent() {
      const agent = request.headers['user-agent']
      return agent ? agent.toWellFormed().replaceAll('\0', '').slice(0, 400) : null
    },
    request_id: request.id,
  }
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** @param authorizeAgain asked when a turn has come, as the caller may have been signed out while they waited */
function handlerOf(
  op: AnyOperation,
  few: FewAtOnce | undefined,
  authorizeAgain: (request: FastifyRequest) => Promise<void> | undefined,
): RouteHandlerMethod {
  const readInput = inputReader(op)
  const [status, schema] = op.success
  const file = fileOf(schema)
  return (request, reply) => {
    const send = (value: unknown) => {
      if (op.mayBeEmpty && value === undefined) return reply.code(NO_CONTENT).send()
      reply.code(status)
      if (file) return sendDownload(request, reply, file, value as Download)
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
      const handle = () => op.handle(call)
      if (!few || !caller) return handle()
      return few.run(caller.user_id, async () => {
        await authorizeAgain(request)
        return handle()
      })
    })
    return answer instanceof Promise ? answer.then(send) : send(answer)
  }
}

function sendBytes(request: FastifyRequest, reply: FastifyReply, value: JsonBytes<unknown>) {
  const { bytes, encoding } = value.for(request.headers['accept-encoding'])
  if (encoding) reply.header('content-encoding', encoding)
  return reply.header('vary', 'accept-encoding').type(JSON_TYPE).send(bytes)
}

const NO_HEADERS = Object.freeze({})

function headersOf({ headers }: AnyOperation, { raw: { rawHeaders } }: FastifyRequest) {
  if (!headers) return NO_HEADERS
  // Names stand at even places.
  const valuesOf = (wanted: string) =>
    rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === wanted)
  return Object.fromEntries(
    Object.keys(headers).map((name) => [name, valuesOf(name.toLowerCase())]),
  )
}

/** For the serializer: undeclared fields never leave, whatever a service answers. */
function responseSchemas(op: AnyOperation): Record<string, unknown> {
  const [status, schema] = op.success
  const refusals = statusesOf(op)
    .filter(isRefusal)
    .map((refusal) => [refusal, anonymous(refusal === 422 ? InvalidBody : ProblemBody)])
  return {
    ...Object.fromEntries(refusals),
    // What is streamed is serialized by nobody.
    ...(op.mayBeEmpty ? { [NO_CONTENT]: { type: 'null' } } : {}),
    ...(fileOf(schema) ? {} : { [status]: schema ? anonymous(schema) : { type: 'null' } }),
  }
}

const isRefusal = (status: number) => status >= 400

/** The schema without the names that are for the OpenAPI document; Fastify would want them unique. */
function anonymous(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema, (key, value) => (key === '$id' ? undefined : value)))
}
