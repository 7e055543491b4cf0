/** `fetch` over an upstream, for libraries that bring none of their own rules on where requests go. */
import type { Upstream } from './upstream.ts'

/** The part of fetch's options that such libraries use. */
export interface FetchInit {
  method?: string
  headers?: Record<string, string>
  body?: unknown
  signal?: AbortSignal | null
}

/** An exchange that failed. Its message is for people, and holds nothing of the URL but its host. */
export class UpstreamError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UpstreamError'
  }
}

/**
 * As `fetch`, but a redirect is answered and not followed, one deadline holds for all, and only text is
 * sent. What fails rejects with an UpstreamError.
 * @param deadlineMs for everything, from the question to DNS to the answer's last byte
 */
export function upstreamFetch(
  upstream: Upstream,
  deadlineMs: number,
): (url: string, init?: FetchInit) => Promise<Response> {
  return async (url, { method = 'GET', headers = {}, body, signal } = {}) => {
    if (method !== 'GET' && method !== 'POST') throw new UpstreamError('only GET and POST are sent')
    if (body !== undefined && body !== null && typeof body !== 'string')
      throw new UpstreamError('only text is sent')
    const exchange = await upstream.send({
      method,
      url,
      headers,
      deadlineMs,
      ...(body ? { body } : {}),
      ...(signal ? { signal } : {}),
    })
    if (exchange.kind === 'failed') throw new UpstreamError(exchange.detail)
    // RFC 9110, 15: a status code outside 100 to 599 is invalid; Response takes none.
    if (exchange.status > 599) throw new UpstreamError('the answer is not HTTP')
    const isBodiless = [204, 205, 304].includes(exchange.status)
    return new Response(isBodiless ? null : exchange.body, {
      status: exchange.status,
      ...(exchange.retryAfter ? { headers: { 'retry-after': exchange.retryAfter } } : {}),
    })
  }
}
