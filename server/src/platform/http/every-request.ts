/** Checks that run for every request, including static pages and 404s, before the operation. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { networkOf } from '../../lib/network.ts'
import { Problem } from '../../lib/problems.ts'
import type { Logger } from '../observe/log.ts'
import { addressOf, writtenAddress } from './address.ts'
import { SECURITY_HEADERS } from './headers.ts'
import type { Limits } from './rate-limit.ts'

/** Matches request ids from callers that are short and safe to log. */
const REQUEST_ID = /^[\w.:-]{1,100}$/

type Arrived = FastifyRequest['raw']

interface ArrivalOptions {
  limits: Limits
  /** Number of trusted proxy hops for `X-Forwarded-For`. */
  trustedProxies: number
  log: Logger
}

/** Sets the headers of every response, limits calls per address and enforces the HTTP rules for `Host` and `Expect`. */
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
  // Requests with an unknown `Expect` header. Node would answer them without a body or any hook.
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

/** Returns a warning if the proxies seem misconfigured, otherwise undefined. */
function proxyWarning(trustedProxies: number, { headers, ip }: FastifyRequest): string | undefined {
  if (headers['x-forwarded-for'] === undefined) return undefined
  if (trustedProxies === 0)
    return 'X-Forwarded-For received but TRUSTED_PROXIES is 0; behind a proxy, all callers count as one address, so set it to the number of proxies'
  return writtenAddress(ip)
    ? undefined
    : 'X-Forwarded-For has no valid IP address at the position of the outermost trusted proxy; such callers count as one address, so configure the proxy to write addresses, with or without a port'
}

export function markAnswer(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(SECURITY_HEADERS).header('x-request-id', request.id)
}

/** Counts a call against the rate limit of the caller's address. @throws Problem 429 beyond the limit */
export function countArrival(
  limits: Limits,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> | undefined {
  const network = networkOf(addressOf(request))
  const operation = request.routeOptions.config?.operation
  // Counts per operation, so that requests for sign-in links do not use up the limit for registrations.
  return operation?.limit
    ? limits[operation.limit].take(`${operation.id} ${network}`, reply)
    : limits.requests.take(network, reply)
}

/** Calls `done` when the work has settled. If there is no work, calls `done` immediately. */
export function whenDone(work: Promise<void> | undefined, done: (error?: Error) => void): void {
  if (work === undefined) done()
  else work.then(() => done(), done)
}

/** Returns the request id that the caller supplied, if it is safe. Used only in logs, never in the journal. */
export function callersRequestId({ headers }: FastifyRequest): string | undefined {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : undefined
}

/**
 * Requires exactly one Host header (RFC 9112 §3.2), optional in HTTP/1.0. With two, a proxy may have used either. Raw
 * headers alternate names (even indexes) and values.
 */
function hasItsHost({ rawHeaders, httpVersion }: Arrived): boolean {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === 'host') hosts += 1
  return hosts === 1 || (hosts === 0 && httpVersion !== '1.1')
}
