/** Sends requests to URLs that tenants choose. Checks each target and connects only to allowed addresses. */
import { LRUCache } from 'lru-cache'
import type { Time } from '../../lib/time.ts'
import type { TargetPolicy } from './addresses.ts'
import { dialler } from './dial.ts'
import { DialError } from './dial-error.ts'
import { type Exchange, openExchanges } from './exchanges.ts'
import { dnsResolver, type Resolver } from './resolver.ts'
import { checkUrl } from './targets.ts'

/** Maximum number of URLs whose check result is cached. Messages to the same URL then do not repeat the check. */
const MAX_CHECKED = 5000

export interface Post {
  url: string
  headers: Record<string, string>
  body: string | Buffer
  /** The deadline in milliseconds for the whole exchange, from the DNS query to the last byte of the response. */
  deadlineMs: number
  /** How many bytes of the response body to store. */
  keepBytes: number
  signal?: AbortSignal
}

export interface Outbound {
  /**
   * Sends one POST and never follows redirects. Never throws. After a failure, the result has the kind `failed`. If the
   * target closes a pooled connection without responding, it may receive the POST twice.
   */
  post(request: Post): Promise<Exchange>
  /** Closes idle connections and aborts running exchanges. */
  close(): Promise<void>
}

export interface OutboundOptions {
  policy: TargetPolicy
  clock: Time
  resolver?: Resolver
  /** How long a connection stays open for the next request (milliseconds), unless its server specifies a time. */
  idleMs?: number
  /** A certificate authority (PEM) to trust in addition to those of the system. */
  ca?: string
}

export function openOutbound(options: OutboundOptions): Outbound {
  const { policy, clock, resolver = dnsResolver({ clock }), idleMs = 4000, ca } = options
  const exchanges = openExchanges(dialler({ policy, resolver, ca }), idleMs)
  const judged = new LRUCache<string, ReturnType<typeof checkUrl>>({ max: MAX_CHECKED })

  /** Returns the checked URL. Caches the result of `checkUrl`, which depends only on the URL. */
  function judge(text: string): URL {
    const verdict = judged.get(text) ?? checkUrl(text, policy)
    judged.set(text, verdict)
    if ('refusal' in verdict) throw refused(verdict.refusal)
    return verdict.url
  }

  return {
    // The POST is repeatable. A message that arrives twice has the same id, so receivers can detect the repetition.
    post: (request) =>
      exchanges.exchange({ ...request, method: 'POST', isRepeatable: true }, () =>
        judge(request.url),
      ),
    close: exchanges.close,
  }
}

const refused = (refusal: string) =>
  new DialError('address_forbidden', refusal.replace(/^must /, 'the URL must '))
