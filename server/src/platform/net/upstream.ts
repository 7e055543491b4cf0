/**
 * Sends requests to a service that the operator configures, such as a provider's API. This service may be anywhere,
 * even on the internal network and without TLS. Requests carry the operator's credentials, so they stay below the
 * configured URL and never follow redirects.
 */
import { ANYWHERE } from './addresses.ts'
import { dialler } from './dial.ts'
import { DialError } from './dial-error.ts'
import { type Exchange, type ExchangeRequest, openExchanges, type Transfer } from './exchanges.ts'
import { type Resolver, systemResolver } from './resolver.ts'
import { checkUrl } from './targets.ts'

/** Maximum size of a response in bytes. This is far more than a page of a hundred records needs. */
const MAX_ANSWER = 1024 * 1024

export interface UpstreamRequest
  extends Pick<ExchangeRequest, 'headers' | 'deadlineMs' | 'signal'> {
  method: 'GET' | 'POST'
  /** An absolute URL below the configured URL. */
  url: string
  body?: string
}

export interface TransferRequest
  extends Pick<ExchangeRequest, 'method' | 'headers' | 'deadlineMs' | 'signal'> {
  /** An absolute URL below the configured URL. */
  url: string
  body?: Buffer
  /** Maximum size of the response in bytes. A larger response counts as a failure. */
  maxBytes: number
}

export interface Upstream {
  /**
   * Sends one request, whose response may have up to 1 MiB, and never follows redirects. Never throws. After a failure,
   * the result has the kind `failed`. Sends a POST at most once, over a new connection. Retries a GET if a pooled
   * connection closes without a response.
   */
  send(request: UpstreamRequest): Promise<Exchange>
  /** Works like `send`, but for bytes. Retries every method except POST as `send` retries GET (RFC 9110, 9.2.2). */
  transfer(request: TransferRequest): Promise<Transfer>
  /** Closes idle connections and aborts running exchanges. */
  close(): Promise<void>
}

export interface UpstreamOptions {
  /** The URL below which all requests stay, as returned by `parseUpstreamUrl`. */
  url: string
  resolver?: Resolver
  /** How long a connection stays open for the next request (milliseconds), unless its server specifies a time. */
  idleMs?: number
  /** A certificate authority (PEM) to trust in addition to those of the system. */
  ca?: string
}

/** Parses the URL of an upstream and removes trailing slashes. @throws Error with a message that starts with "must" */
export function parseUpstreamUrl(text: string): string {
  const verdict = checkUrl(text, ANYWHERE)
  if ('refusal' in verdict)
    throw new Error(
      verdict.refusal.replace('https://example.org/hook', 'https://api.example.org/v1'),
    )
  const { url } = verdict
  if (url.search !== '' || text.includes('#') || text.includes('?'))
    throw new Error('must be a URL without a query string')
  return url.href.replace(/\/+$/, '')
}

export function openUpstream(options: UpstreamOptions): Upstream {
  const { url: base, resolver = systemResolver(), idleMs = 4000, ca } = options
  const exchanges = openExchanges(dialler({ policy: ANYWHERE, resolver, ca }), idleMs)

  function below(text: string): URL {
    // Parses the URL first, because `..` and backslashes change the path only during parsing.
    const url = URL.parse(text)
    if (!url?.href.startsWith(`${base}/`) || url.username !== '' || url.password !== '')
      throw new DialError('address_forbidden', 'the request URL is outside the configured URL')
    return url
  }

  return {
    send: ({ url, body = null, ...request }) =>
      exchanges.exchange(
        {
          ...request,
          body,
          keepBytes: MAX_ANSWER,
          wantsWhole: true,
          isRepeatable: request.method === 'GET',
        },
        () => below(url),
      ),
    transfer: ({ url, body = null, maxBytes, ...request }) =>
      exchanges.transfer(
        {
          ...request,
          body,
          keepBytes: maxBytes,
          wantsWhole: true,
          isRepeatable: request.method !== 'POST',
        },
        () => below(url),
      ),
    close: exchanges.close,
  }
}
