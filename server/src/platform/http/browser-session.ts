/** The cookie of a console session. Operations that declare `browserSession` receive it and reject other sites. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../lib/problems.ts'

/** The `__Host-` prefix restricts the cookie to this host and requires Secure and Path=/ (RFC 6265bis §4.1.3.2). */
const NAME = '__Host-wardkeep'
/** Sets no Max-Age, so that the browser deletes the cookie when it is closed. */
const ATTRIBUTES = 'Secure; HttpOnly; SameSite=Strict; Path=/'

export interface BrowserSession {
  /** The refresh token that the browser sent, or undefined if it sent no session cookie. */
  readonly token: string | undefined
  /** Stores this refresh token in the browser. */
  keep(token: string): void
  clear(): void
}

/** Returns the session cookie of a request. The methods of the result set cookie headers on `reply`. */
export function browserSession(request: FastifyRequest, reply: FastifyReply): BrowserSession {
  return {
    token: cookieOf(request.headers.cookie ?? ''),
    keep: (token) => void reply.header('set-cookie', `${NAME}=${token}; ${ATTRIBUTES}`),
    clear: () => void reply.header('set-cookie', `${NAME}=; ${ATTRIBUTES}; Max-Age=0`),
  }
}

function cookieOf(header: string): string | undefined {
  const pairs = header.split(';').map((pair) => pair.trim())
  const own = pairs.find((pair) => pair.startsWith(`${NAME}=`))
  return own?.slice(NAME.length + 1) || undefined
}

/**
 * Requires that a page of this service sent the request, by `Sec-Fetch-Site`, or in old browsers by `Origin` (the
 * public address or a subdomain). @throws Problem 403 for a request from another site
 */
export function requireSameOrigin({ headers }: FastifyRequest, publicUrl: URL): void {
  const site = headers['sec-fetch-site']
  const isOwn = site === undefined ? isOwnOrigin(headers.origin, publicUrl) : site === 'same-origin'
  if (!isOwn) throw new Problem('cross_site')
}

function isOwnOrigin(origin: string | undefined, { protocol, hostname, port }: URL): boolean {
  const url = origin === undefined ? null : URL.parse(origin)
  return (
    url?.protocol === protocol &&
    url.port === port &&
    (url.hostname === hostname || url.hostname.endsWith(`.${hostname}`))
  )
}
