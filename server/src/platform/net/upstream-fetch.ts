/** Implements `fetch` with an upstream. For libraries that do not restrict the hosts to which they connect. */
import type { Upstream } from './upstream.ts'

/** The options of `fetch` that these libraries use. */
export interface FetchInit {
  method?: string
  headers?: Record<string, string>
  body?: unknown
  signal?: AbortSignal | null
}

/** Thrown when an exchange fails. The message is for people and reveals only the host of the URL. */
export class UpstreamError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UpstreamError'
  }
}

/**
 * Returns a function like `fetch` that sends only text, has one deadline and never follows redirects. Rejects with an
 * UpstreamError after a failure.
 * @param deadlineMs deadline for the whole exchange, from the DNS query to the last byte of the response
 */
export function upstreamFetch(
  upstream: Upstream,
  deadlineMs: number,
): (url: string, init?: FetchInit) => Promise<Response> {
  return async (url, { method = 'GET', headers = {}, body, signal } = {}) => {
    if (method !== 'GET' && method !== 'POST')
      throw new UpstreamError('only GET and POST are supported')
    if (body !== undefined && body !== null && typeof body !== 'string')
      throw new UpstreamError('only text bodies are supported')
    const exchange = await upstream.send({
      method,
      url,
      headers,
      deadlineMs,
      ...(body ? { body } : {}),
      ...(signal ? { signal } : {}),
    })
    if (exchange.kind === 'failed') throw new UpstreamError(exchange.detail)
    // Status codes above 599 are invalid (RFC 9110, 15), and the Response constructor would throw a RangeError.
    if (exchange.status > 599) throw new UpstreamError('the response is not HTTP')
    const isBodiless = [204, 205, 304].includes(exchange.status)
    return new Response(isBodiless ? null : exchange.body, {
      status: exchange.status,
      ...(exchange.retryAfter ? { headers: { 'retry-after': exchange.retryAfter } } : {}),
    })
  }
}
