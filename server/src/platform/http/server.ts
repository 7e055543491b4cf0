/** The HTTP server around the operations: limits, headers, request ids, one log line a request. */

import { randomUUID } from 'node:crypto'
import cors from '@fastify/cors'
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import fastify, { type FastifyInstance } from 'fastify'
import type { Logger } from '../observe/log.ts'
import { addressOf } from './address.ts'
import { callersRequestId, countArrival, markAnswer, watchArrivals, whenDone } from './arrival.ts'
import { readJsonBodies } from './body.ts'
import { OPEN_BODY_LIMIT } from './body-limit.ts'
import { boundConnections } from './connections.ts'
import { sendError } from './errors.ts'
import { answerOtherMethods, withoutTrailingSlash } from './methods.ts'
import { onceEach } from './once-each.ts'
import type { Limits } from './rate-limit.ts'
import { requireOperations } from './routes.ts'
import { refuseUnreadable } from './unreadable.ts'

export interface ServerOptions {
  /** Proxy hops whose `X-Forwarded-For` is believed. */
  trustedProxies: number
  /** Origins that may call from a browser. */
  corsOrigins: readonly string[]
  limits: Limits
  log: Logger
  /** Told of every request once it is answered. */
  onAnswered(route: string, method: string, status: number, seconds: number): void
}

const compileSerializer = SerializerSelector()({}, {})

/** The route is for its error messages alone. */
const NO_ROUTE = { method: '', url: '', httpStatus: '' }

const serializerOf = onceEach((schema) => compileSerializer({ ...NO_ROUTE, schema }))

/** Builds the server without operations; `addOperations` fills it. */
export async function openServer(options: ServerOptions): Promise<FastifyInstance> {
  const { log, trustedProxies: hops } = options
  const app = fastify({
    logger: false,
    // Ours answers whoever names no Host, see arrival.ts.
    http: { requireHostHeader: false },
    clientErrorHandler: (error, socket) => refuseUnreadable(error, socket, log),
    bodyLimit: OPEN_BODY_LIMIT,
    // The address that the nearest trusted proxy saw; nothing that a caller writes before it counts.
    trustProxy: hops === 0 ? false : (_address, hop) => hop < hops,
    requestTimeout: 30_000,
    keepAliveTimeout: 65_000,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // Always our own: entries of the journal are found by it, and nobody is to mix them up.
    genReqId: () => randomUUID(),
    routerOptions: { maxParamLength: 500 },
    rewriteUrl: ({ url = '/' }) => withoutTrailingSlash(url),
    frameworkErrors: (error, request, reply) => {
      // No hook runs for these: they are counted here.
      markAnswer(request, reply as never)
      whenDone(countArrival(options.limits, request, reply as never), (refused) =>
        sendError(refused ?? error, request, reply as never, log),
      )
    },
  })
  // Our own checks find the issues of all parts at once; the schemas here only shape answers.
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
      ],
      maxAge: 600,
    })
  readJsonBodies(app)
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unknown'
    const ms = reply.elapsedTime
    options.onAnswered(route, request.method, reply.statusCode, ms / 1000)
    // The route, not the URL: a query holds names and addresses.
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
    // A connection whose request outlived the start of the stop would be kept for another.
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
