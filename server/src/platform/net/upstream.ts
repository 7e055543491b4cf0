/**
 * Requests to a service that the operator names, such as a provider's API. It may be anywhere, also
 * inside and without TLS; but what is sent goes below that one URL and nowhere else, redirects
 * included, as it carries the operator's credentials.
 */
import type { TargetPolicy } from './addresses.ts'
import { dialler } from './dial.ts'
import { DialError } from './dial-error.ts'
import { type Exchange, type ExchangeRequest, openExchanges, type Transfer } from './exchanges.ts'
import { parseNetworks } from './networks.ts'
import { type Resolver, systemResolver } from './resolver.ts'
import { checkUrl } from './targets.ts'

/** Bytes of an answer: a page of a hundred records fits many times over. */
const MAX_ANSWER = 1024 * 1024

const ANYWHERE: TargetPolicy = {
  allowHttp: true,
  allowedNetworks: parseNetworks('0.0.0.0/0, ::/0'),
}

export interface UpstreamRequest
  extends Pick<ExchangeRequest, 'headers' | 'deadlineMs' | 'signal'> {
  method: 'GET' | 'POST'
  /** Absolute, and below the upstream's own. */
  url: string
  body?: string
}

export interface TransferRequest
  extends Pick<ExchangeRequest, 'method' | 'headers' | 'deadlineMs' | 'signal'> {
  /** As of any request. */
  url: string
  body?: Buffer
  /** Bytes of an answer; one of more is a failure. */
  maxBytes: number
}

export interface Upstream {
  /**
   * One request, never following a redirect, for an answer of up to 1 MiB; whatever goes wrong is an
   * answer of kind `failed`: it never throws. A POST is sent once at the most, over a connection of
   * its own; a GET goes again where a kept connection ends without an answer.
   */
  send(request: UpstreamRequest): Promise<Exchange>
  /** As `send`, for bytes either way; what is no POST goes again as a GET does (RFC 9110, 9.2.2). */
  transfer(request: TransferRequest): Promise<Transfer>
  /** Ends idle connections and whatever still runs. */
  close(): Promise<void>
}

export interface UpstreamOptions {
  /** What all requests go below, as `parseUpstreamUrl` returns it. */
  url: string
  resolver?: Resolver
  /** How long a connection is kept for the next request, unless its server says something else. */
  idleMs?: number
  /** A certificate authority that is trusted besides those of the system, as PEM. */
  ca?: string
}

/** Reads the URL of an upstream; no slash at its end. @throws Error that says what it must be */
export function parseUpstreamUrl(text: string): string {
  const verdict = checkUrl(text, ANYWHERE)
  if ('refusal' in verdict)
    throw new Error(
      verdict.refusal.replace('https://example.org/hook', 'https://api.example.org/v1'),
    )
  const { url } = verdict
  if (url.search !== '' || text.includes('#') || text.includes('?'))
    throw new Error('must be a URL without a query')
  return url.href.replace(/\/+$/, '')
}

export function openUpstream(options: UpstreamOptions): Upstream {
  const { url: base, resolver = systemResolver(), idleMs = 4000, ca } = options
  const exchanges = openExchanges(dialler({ policy: ANYWHERE, resolver, ca }), idleMs)

  function below(text: string): URL {
    // Parsed first: `..` and a backslash lead out of it only then.
    const url = URL.parse(text)
    if (!url?.href.startsWith(`${base}/`) || url.username !== '' || url.password !== '')
      throw new DialError('address_forbidden', 'the request would leave the URL that is configured')
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
