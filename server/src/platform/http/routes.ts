/** Turns operations into Fastify routes: rate limit, authentication, access, input, handler, status. */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { InvalidInput, PROBLEMS, Problem } from '../../lib/problems.ts'
import { InvalidBody, ProblemBody } from '../../lib/shapes.ts'
import type { Caller, Identity, Origin } from '../access/index.ts'
import { requireRole } from '../access/index.ts'
import type { Logger } from '../observe/log.ts'
import { DOCS_PATH } from './docs.ts'
import { type AnyOperation, statusesOf } from './operation.ts'
import type { RateLimit } from './rate-limit.ts'
import { type Check, compileCheck } from './validation/validator.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The operation behind the route; a route without one stops the boot. */
    operation?: AnyOperation
    takesBody?: boolean
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

/** Registers the operations. */
export function addOperations(
  app: FastifyInstance,
  operations: readonly AnyOperation[],
  gate: Gate,
): void {
  for (const op of operations) addOperation(app, op, gate)
}

/** @throws Error at boot when a route was registered that declares no operation */
export function requireOperations(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const isDocs = route.url.startsWith(DOCS_PATH)
    if (!route.config?.operation && !isDocs)
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
    onRequest: (request, reply) => enter(op, gate, request, reply),
    handler: handlerOf(op, gate),
    onSend: async (request, reply, payload) => {
      if (statuses.has(reply.statusCode)) return payload
      gate.log.error(
        { status: reply.statusCode, operation: op.id, req_id: request.id },
        'undeclared status',
      )
      reply.code(500)
      return JSON.stringify({ detail: PROBLEMS.internal[1], code: 'internal' })
    },
  })
}

async function enter(
  op: AnyOperation,
  gate: Gate,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  await gate.limits[op.throttled ? 'guesses' : 'all'].take(request.ip, reply)
  if (!op.access.roles) return
  const proven = gate.authenticate(bearerToken(request))
  // What is held in memory is there at once; only a promise is worth a wait.
  const caller = callerOf(proven instanceof Promise ? await proven : proven, request)
  request.caller = caller
  await reporting(op, gate, caller, () => requireRole(op.access, caller))
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
  const agent = request.headers['user-agent']
  return {
    ip: request.ip,
    user_agent: agent ? agent.toWellFormed().replaceAll('\0', '').slice(0, 400) : null,
    request_id: request.id,
  }
}

async function reporting<T>(op: AnyOperation, gate: Gate, caller: Caller | null, work: () => T) {
  try {
    return await work()
  } catch (error) {
    if (caller && error instanceof Problem && error.status === 403)
      await gate.refused(caller, op, error)
    throw error
  }
}

function handlerOf(op: AnyOperation, gate: Gate): RouteHandlerMethod {
  const checks = {
    path: op.params && compileCheck(op.params, 'path'),
    query: op.query && compileCheck(op.query, 'query'),
    body: op.body && compileCheck(op.body, 'body'),
  }
  const [status, schema] = op.success
  return async (request, reply) => {
    const body = op.bodyOptional ? (request.body ?? {}) : request.body
    refuseFaults(checks, request, body)
    const call = {
      caller: request.caller as never,
      origin: request.caller?.origin ?? originOf(request),
      path: request.params as never,
      query: request.query as never,
      body: body as never,
      host: request.host,
    }
    const answer = await reporting(op, gate, request.caller, () => op.handle(call))
    reply.code(status)
    return schema === null ? reply.send() : answer
  }
}

function refuseFaults(
  checks: Record<'path' | 'query' | 'body', Check | undefined>,
  request: FastifyRequest,
  body: unknown,
): void {
  const faults = [
    ...(checks.path?.(request.params) ?? []),
    ...(checks.query?.(request.query) ?? []),
  ]
  if (checks.body && body === undefined)
    faults.push({ loc: ['body'], msg: 'Field required', type: 'missing' })
  else if (checks.body) faults.push(...checks.body(body))
  if (faults.length > 0) throw new InvalidInput(faults)
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
