/** What is looked at of every request before it is known which operation it is for: pages and 404s too. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { networkOf } from '../../lib/network.ts'
import { Problem } from '../../lib/problems.ts'
import type { Logger } from '../observe/log.ts'
import { addressOf, writtenAddress } from './address.ts'
import { SECURITY_HEADERS } from './headers.ts'
import type { Limits } from './rate-limit.ts'

/** A caller's own request id is noted when it is short and harmless in a log. */
const REQUEST_ID = /^[\w.:-]{1,100}$/

type Arrived = FastifyRequest['raw']

interface ArrivalOptions {
  limits: Limits
  /** Proxy hops whose `X-Forwarded-For` is believed. */
  trustedProxies: number
  log: Logger
}

/** Every answer's headers, the limit by address, and what HTTP asks of a request. */
export function watchArrivals(app: FastifyInstance, options: ArrivalOptions): void {
  const { limits, trustedProxies, log } = options
  let isWarned = false
  app.addHook('onRequest', (request, reply, done) => {
    markAnswer(request, reply)
    const warning = isWarned ? undefined : proxyWarning(trustedProxies, request)
    if (warning) {
      isWarned = true
      log.warn(warning)
    }
    whenDone(countArrival(limits, request, reply), done)
  })
  // Node would answer these by itself, with no body and unseen by any hook.
  const unmet = new WeakSet<Arrived>()
  app.server.on('checkExpectation', (request: Arrived, response: FastifyReply['raw']) => {
    unmet.add(request)
    app.routing(request, response)
  })
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    if (!hasItsHost(raw)) return done(new Problem('ambiguous_host'))
    done(unmet.has(raw) ? new Problem('expectation_failed') : undefined)
  })
}

/** What is wrong with what a proxy has told of the caller; undefined where nothing is. */
function proxyWarning(trustedProxies: number, { headers, ip }: FastifyRequest): string | undefined {
  if (headers['x-forwarded-for'] === undefined) return undefined
  if (trustedProxies === 0)
    return 'X-Forwarded-For arrives, but TRUSTED_PROXIES is 0: if a proxy stands before the service, all callers count as one address, that of the proxy; set it to the number of proxies'
  return writtenAddress(ip)
    ? undefined
    : 'X-Forwarded-For holds no IP address where the outermost of the TRUSTED_PROXIES writes one: such callers count as one address, that of the proxy; let it write addresses, with or without a port'
}

/** Puts on an answer what every answer carries. */
export function markAnswer(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(SECURITY_HEADERS).header('x-request-id', request.id)
}

/** @throws Problem 429 when the address has called too often */
export function countArrival(
  limits: Limits,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> | undefined {
  const network = networkOf(addressOf(request))
  const operation = request.routeOptions.config?.operation
  // Each for itself: asking for links takes nothing from those who register.
  return operation?.limit
    ? limits[operation.limit].take(`${operation.id} ${network}`, reply)
    : limits.requests.take(network, reply)
}

/** Calls back at once where there is nothing to wait for. */
export function whenDone(work: Promise<void> | undefined, done: (error?: Error) => void): void {
  if (work === undefined) done()
  else work.then(() => done(), done)
}

/** The id that the caller gave the request, for the log alone: a journal is not told by its readers. */
export function callersRequestId({ headers }: FastifyRequest): string | undefined {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : undefined
}

/**
 * RFC 9112 §3.2: with two it is anyone's guess which of them a proxy has gone by; HTTP/1.0 knows it not, and may
 * leave it out. Names stand at even places.
 */
function hasItsHost({ rawHeaders, httpVersion }: Arrived): boolean {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === 'host') hosts += 1
  return hosts === 1 || (hosts === 0 && httpVersion !== '1.1')
}
