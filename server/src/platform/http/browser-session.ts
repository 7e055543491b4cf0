/**
 * The cookie that keeps a session of the console in a browser. Only operations that declare `browserSession` see it, and
 * they refuse requests that another site made the browser send.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../lib/problems.ts'

/** With this prefix a browser keeps the cookie for this host alone, with Secure and Path=/ (RFC 6265bis §4.1.3.2). */
const NAME = '__Host-wardkeep'
/** Without Max-Age the cookie goes when the browser is closed. */
const ATTRIBUTES = 'Secure; HttpOnly; SameSite=Strict; Path=/'

/** The cookie of one request. */
export interface BrowserSession {
  /** The refresh token that the browser sent; undefined without a cookie. */
  readonly token: string | undefined
  /** Has the browser keep this refresh token. */
  keep(token: string): void
  /** Has the browser forget its refresh token. */
  clear(): void
}

/** Returns the cookie of a request, which `reply` may change. */
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
 * Requires that a page of this service sent the request. `Sec-Fetch-Site` says so in current browsers; where it is
 * missing, `Origin` has to be the public address or a tenant's host below it.
 * @throws Problem 403
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
