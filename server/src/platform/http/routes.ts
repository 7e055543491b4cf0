/** Turns operations into Fastify routes: rate limit, authentication, access, input, handler, status. */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { networkOf } from '../../lib/network.ts'
import { InvalidInput, PROBLEMS, Problem } from '../../lib/problems.ts'
import { InvalidBody, ProblemBody } from '../../lib/shapes.ts'
import type { Caller, Identity, Origin } from '../access/index.ts'
import { requireRole } from '../access/index.ts'
import type { Logger } from '../observe/log.ts'
import { DOCS_PATH } from './docs.ts'
import { sendError } from './errors.ts'
import { type AnyOperation, statusesOf } from './operation.ts'
import type { RateLimit } from './rate-limit.ts'
import { type Check, compileCheck } from './validation/validator.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The operation behind the route; a route without one stops the boot. */
    operation?: AnyOperation
    takesBody?: boolean
    /** A static page for everyone. */
    isPage?: boolean
  }
  interface FastifyRequest {
    caller: Caller | null
  }
}

/** What the composition root hands to the routes. */
export interface Gate {
  /** The identity behind a bearer token. @throws Problem 401 */
  authenticate(token: string): Promise<Identity> | Identity
  /** Told of every 403 to a signed-in caller, before it is answered. */
  refused(caller: Caller, operation: AnyOperation, problem: Problem): Promise<void>
  limits: { all: RateLimit; guesses: RateLimit }
  log: Logger
}

/** Registers the operations, and answers what they throw. */
export function addOperations(
  app: FastifyInstance,
  operations: readonly AnyOperation[],
  gate: Gate,
): void {
  for (const op of operations) addOperation(app, op, gate)
  app.setErrorHandler(async (error, request, reply) => {
    const { caller } = request
    const { operation } = request.routeOptions.config
    const isRefusal = caller && operation && error instanceof Problem && error.status === 403
    try {
      if (isRefusal) await gate.refused(caller, operation, error)
    } catch (failure) {
      // A refusal that cannot be journaled is not answered as if it were.
      return sendError(failure, request, reply, gate.log)
    }
    return sendError(error, request, reply, gate.log)
  })
}

/** @throws Error at boot when a route was registered that declares no operation */
export function requireOperations(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const isPage = route.config?.isPage || route.url.startsWith(DOCS_PATH)
    if (!route.config?.operation && !isPage)
      throw new Error(
        `the route ${route.method} ${route.url} declares no operation and so no access`,
      )
  })
}

function addOperation(app: FastifyInstance, op: AnyOperation, gate: Gate): void {
  const statuses = new Set(statusesOf(op))
  app.route({
    method: op.method,
    url: op.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: { operation: op, takesBody: op.body !== undefined },
    exposeHeadRoute: op.method === 'GET',
    schema: { response: responseSchemas(op) },
    onRequest: (request, reply, done) => whenDone(enter(op, gate, request, reply), done),
    // Once more when the body is here: whoever sent it slowly may have been blocked meanwhile.
    ...(op.method === 'GET'
      ? {}
      : { preHandler: (request, _reply, done) => whenDone(admit(op, gate, request), done) }),
    handler: handlerOf(op),
    onSend: (request, reply, payload, done) => {
      if (statuses.has(reply.statusCode)) return done(null, payload)
      gate.log.error(
        { status: reply.statusCode, operation: op.id, req_id: request.id },
        'undeclared status',
      )
      reply.code(500)
      done(null, JSON.stringify({ detail: PROBLEMS.internal[1], code: 'internal' }))
    },
  })
}

/** Calls back at once where there is nothing to wait for. */
function whenDone(work: Promise<void> | undefined, done: (error?: Error) => void): void {
  if (work === undefined) done()
  else work.then(() => done(), done)
}

/**
 * Rate limit, token, role. What is held in memory is there at once: only where something must be
 * waited for is there a promise, as a turn of the event loop costs as much as the whole check.
 */
function enter(
  op: AnyOperation,
  gate: Gate,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> | undefined {
  const limited = gate.limits[op.throttled ? 'guesses' : 'all'].take(networkOf(request.ip), reply)
  return limited ? limited.then(() => admit(op, gate, request)) : admit(op, gate, request)
}

function admit(op: AnyOperation, gate: Gate, request: FastifyRequest): Promise<void> | undefined {
  if (!op.access.roles) return undefined
  const proven = gate.authenticate(bearerToken(request))
  const accept = (identity: Identity) => {
    request.caller = callerOf(identity, request)
    if (identity.enrolment_only && !op.whileEnrolling) throw new Problem('enrolment_required')
    requireRole(op.access, request.caller)
    return undefined
  }
  return proven instanceof Promise ? proven.then(accept) : accept(proven)
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
    ip: request.ip,
    // Most requests write nothing, and then nobody asks.
    get user_agent() {
      const agent = request.headers['user-agent']
      return agent ? agent.toWellFormed().replaceAll('\0', '').slice(0, 400) : null
    },
    request_id: request.id,
  }
}

function handlerOf(op: AnyOperation): RouteHandlerMethod {
  const checks = {
    path: op.params && compileCheck(op.params, 'path'),
    query: op.query && compileCheck(op.query, 'query'),
    body: op.body && compileCheck(op.body, 'body'),
  }
  const [status, schema] = op.success
  return (request, reply) => {
    const body = op.bodyOptional ? (request.body ?? {}) : request.body
    refuseFaults(checks, op, request, body)
    const answer = op.handle({
      caller: request.caller,
      origin: request.caller?.origin ?? originOf(request),
      path: request.params,
      query: request.query,
      body,
      host: request.host,
    })
    const send = (value: unknown) => reply.code(status).send(schema === null ? undefined : value)
    return answer instanceof Promise ? answer.then(send) : send(answer)
  }
}

function refuseFaults(
  checks: Record<'path' | 'query' | 'body', Check | undefined>,
  op: AnyOperation,
  request: FastifyRequest,
  body: unknown,
): void {
  const faults = [
    ...(checks.path?.(request.params) ?? []),
    ...(checks.query?.(request.query) ?? []),
  ]
  if (checks.query && !isDecodable(request.raw.url ?? '')) faults.push(BADLY_ENCODED)
  if (checks.body && body === undefined)
    faults.push({ loc: ['body'], msg: 'Field required', type: 'missing' })
  else if (checks.body) faults.push(...checks.body(body), ...(op.faultsOf?.(body) ?? []))
  if (faults.length > 0) throw new InvalidInput(faults)
}

const BADLY_ENCODED = {
  loc: ['query'],
  msg: 'Value error, the query is not properly encoded',
  type: 'value_error',
}

/** Whether every escape in the URL is UTF-8: the parser leaves what is not as it is. */
function isDecodable(url: string): boolean {
  try {
    return !url.includes('%') || decodeURIComponent(url) !== undefined
  } catch {
    return false
  }
}

/** For the serializer: undeclared fields never leave, whatever a service answers. */
function responseSchemas(op: AnyOperation): Record<string, unknown> {
  const [status, schema] = op.success
  const refusals = statusesOf(op).map((refusal) => [
    refusal,
    anonymous(refusal === 422 ? InvalidBody : ProblemBody),
  ])
  return {
    ...Object.fromEntries(refusals),
    [status]: schema ? anonymous(schema) : { type: 'null' },
  }
}

/** The schema without the names that are for the OpenAPI document; Fastify would want them unique. */
function anonymous(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema, (key, value) => (key === '$id' ? undefined : value)))
}
