/** Sends requests to targets that tenants name: each is judged, and only what may be dialled is. */
import { LRUCache } from 'lru-cache'
import type { Time } from '../../lib/time.ts'
import type { TargetPolicy } from './addresses.ts'
import { dialler } from './dial.ts'
import { DialError } from './dial-error.ts'
import { type Exchange, openExchanges } from './exchanges.ts'
import { dnsResolver, type Resolver } from './resolver.ts'
import { checkUrl } from './targets.ts'

/** URLs whose verdict is kept, so that it is not worked out for each message. */
const MAX_CHECKED = 5000

export interface Post {
  url: string
  headers: Record<string, string>
  body: string | Buffer
  /** For everything, from the question to DNS to the answer's last byte. */
  deadlineMs: number
  /** How many bytes of the answer's body are kept. */
  keepBytes: number
  signal?: AbortSignal
}

export interface Outbound {
  /**
   * One POST, never following a redirect; whatever goes wrong is an answer of kind `failed`: it never
   * throws. It may reach the target twice, where that closes a kept connection without an answer.
   */
  post(request: Post): Promise<Exchange>
  /** Ends idle connections and whatever still runs. */
  close(): Promise<void>
}

export interface OutboundOptions {
  policy: TargetPolicy
  clock: Time
  resolver?: Resolver
  /** How long a connection is kept for the next request, unless its server says something else. */
  idleMs?: number
  /** A certificate authority that is trusted besides those of the system, as PEM. */
  ca?: string
}

export function openOutbound(options: OutboundOptions): Outbound {
  const { policy, clock, resolver = dnsResolver({ clock }), idleMs = 4000, ca } = options
  const exchanges = openExchanges(dialler({ policy, resolver, ca }), idleMs)
  const judged = new LRUCache<string, ReturnType<typeof checkUrl>>({ max: MAX_CHECKED })

  /** As `checkUrl`, which says the same of a URL each time. */
  function judge(text: string): URL {
    const verdict = judged.get(text) ?? checkUrl(text, policy)
    judged.set(text, verdict)
    if ('refusal' in verdict) throw refused(verdict.refusal)
    return verdict.url
  }

  return {
    // A message that comes twice has the same id each time.
    post: (request) =>
      exchanges.exchange({ ...request, method: 'POST', isRepeatable: true }, () =>
        judge(request.url),
      ),
    close: exchanges.close,
  }
}

const refused = (refusal: string) =>
  new DialError('address_forbidden', refusal.replace(/^must /, 'the URL must '))
