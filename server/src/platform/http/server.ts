/** The HTTP server of the operations: limits, headers, request ids and one log line per request. */

import { randomUUID } from 'node:crypto'
import cors from '@fastify/cors'
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import fastify, { type FastifyInstance } from 'fastify'
import type { Time } from '../../lib/time.ts'
import { within } from '../../lib/within.ts'
import type { Logger } from '../observe/log.ts'
import { addressOf } from './address.ts'
import { readJsonBodies } from './body.ts'
import { OPEN_BODY_LIMIT } from './body-limit.ts'
import { onceEach } from './compile-once.ts'
import { boundConnections } from './connections.ts'
import { sendError } from './errors.ts'
import {
  callersRequestId,
  countArrival,
  markAnswer,
  watchArrivals,
  whenDone,
} from './every-request.ts'
import { answerOtherMethods, withoutTrailingSlash } from './methods.ts'
import type { Limits } from './rate-limit.ts'
import { requireOperations } from './routes.ts'
import { refuseUnreadable } from './unreadable.ts'

export interface ServerOptions {
  /** Number of trusted proxy hops for `X-Forwarded-For`. */
  trustedProxies: number
  /** Origins from which browsers may call the service (CORS). */
  corsOrigins: readonly string[]
  limits: Limits
  log: Logger
  /** Called after the response to every request. */
  onAnswered(route: string, method: string, status: number, seconds: number): void
}

const compileSerializer = SerializerSelector()({}, {})

/** A placeholder route for the compiler, which uses it only in error messages. */
const NO_ROUTE = { method: '', url: '', httpStatus: '' }

const serializerOf = onceEach((schema) => compileSerializer({ ...NO_ROUTE, schema }))

/** Creates the server without operations. `addOperations` adds them later. */
export async function openServer(options: ServerOptions): Promise<FastifyInstance> {
  const { log, trustedProxies: hops } = options
  const app = fastify({
    logger: false,
    // every-request.ts answers requests without a Host header.
    http: { requireHostHeader: false },
    clientErrorHandler: (error, socket) => refuseUnreadable(error, socket, log),
    bodyLimit: OPEN_BODY_LIMIT,
    // Uses the address that the outermost trusted proxy reports, and ignores addresses that callers add themselves.
    trustProxy: hops === 0 ? false : (_address, hop) => hop < hops,
    requestTimeout: 30_000,
    keepAliveTimeout: 65_000,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // Always generates the id in the service. Journal entries refer to it, so callers must not choose it.
    genReqId: () => randomUUID(),
    routerOptions: { maxParamLength: 500 },
    rewriteUrl: ({ url = '/' }) => withoutTrailingSlash(url),
    frameworkErrors: (error, request, reply) => {
      // Sets the headers and counts the call here, because Fastify runs no hooks for these errors.
      markAnswer(request, reply as never)
      whenDone(countArrival(options.limits, request, reply as never), (refused) =>
        sendError(refused ?? error, request, reply as never, log),
      )
    },
  })
  // Input checks report the issues of all parts together. Fastify uses schemas only to serialize responses.
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(({ schema }) => {
    const serializer = serializerOf(schema)
    return (value) => serializer()(value)
  })
  app.decorateRequest('caller', null)
  watchArrivals(app, options)
  boundConnections(app.server)
  answerOtherMethods(app, options.corsOrigins.length > 0)
  if (options.corsOrigins.length > 0)
    await app.register(cors, {
      origin: [...options.corsOrigins],
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
      exposedHeaders: [
        'x-request-id',
        'retry-after',
        'ratelimit',
        'ratelimit-policy',
        'www-authenticate',
        'x-total-count',
      ],
      maxAge: 600,
    })
  readJsonBodies(app)
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unknown'
    const ms = reply.elapsedTime
    options.onAnswered(route, request.method, reply.statusCode, ms / 1000)
    // Logs the route instead of the URL, because a query may contain names and addresses.
    log.info(
      {
        req_id: request.id,
        caller_req_id: callersRequestId(request),
        method: request.method,
        route,
        status: reply.statusCode,
        ms: Math.round(ms * 100) / 100,
        ip: addressOf(request),
        tenant_id: request.caller?.tenant_id,
        user_id: request.caller?.user_id,
      },
      'request',
    )
    // A connection whose request was running at the start of the shutdown would be kept alive.
    if (isClosing) setImmediate(() => app.server.closeIdleConnections())
    done()
  })
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
  })
  requireOperations(app)
  return app
}

/** How long a shutdown waits for running requests before it closes their connections. */
const PATIENCE_MS = 7_000

/** Stops accepting requests and waits for running ones. Closes the connections of requests that take too long. */
export async function stopServing(server: FastifyInstance, clock: Time): Promise<void> {
  const closed = server.close()
  if (await within(clock, PATIENCE_MS, closed)) return
  server.server.closeAllConnections()
  await closed
}
