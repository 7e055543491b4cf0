/** Sends requests out: within a deadline, to targets that may be dialled, over pooled connections. */
import { LRUCache } from 'lru-cache'
import type { TargetPolicy } from './addresses.ts'
import type { Answer, Connection } from './connection.ts'
import { dialler } from './dial.ts'
import { type DialFailure, DialFault } from './faults.ts'
import { openConnectionPool } from './pool.ts'
import { dnsResolver, type Resolver } from './resolver.ts'
import { type Run, type StartedRun, startRun } from './run.ts'
import { judgeUrl } from './targets.ts'

/** URLs whose verdict is kept, so that it is not worked out for each message. */
const MOST_JUDGED = 5000

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

/** How a request went; `address` (without the port) is the one that was talked to. */
export type Exchange =
  | ({ kind: 'answered'; address: string; durationMs: number } & Answer)
  | {
      kind: 'failed'
      failure: DialFailure
      /** For people, and holds nothing of the URL but its host. */
      detail: string
      address: string | null
      durationMs: number
    }

export interface Outbound {
  /** One POST, never following a redirect; whatever goes wrong is an answer of kind `failed`: it never throws. */
  post(request: Post): Promise<Exchange>
  /** Ends idle connections and whatever still runs. */
  close(): Promise<void>
}

export interface OutboundOptions {
  policy: TargetPolicy
  resolver?: Resolver
  /** How long a connection is kept for the next request, unless its server says something else. */
  idleMs?: number
  /** A certificate authority that is trusted besides those of the system, as PEM. */
  ca?: string
}

export function openOutbound(options: OutboundOptions): Outbound {
  const { policy, resolver = dnsResolver(), idleMs = 4000, ca } = options
  const pool = openConnectionPool(dialler({ policy, resolver, ca }), idleMs)
  const running = new Set<StartedRun>()
  const judged = new LRUCache<string, ReturnType<typeof judgeUrl>>({ max: MOST_JUDGED })

  /** As `judgeUrl`, which says the same of a URL each time. */
  function judge(text: string) {
    const known = judged.get(text) ?? judgeUrl(text, policy)
    judged.set(text, known)
    return known
  }
  let isClosed = false

  async function over(connection: Connection, url: URL, request: Post, run: Run): Promise<Answer> {
    // RFC 9110, 12.5.3: without the header any coding of the answer would do.
    const headers = { 'accept-encoding': 'identity', ...request.headers }
    const answer = await connection.post({ ...request, url, headers }, run)
    pool.keep(connection)
    return answer
  }

  async function send(request: Post, run: Run): Promise<Answer> {
    const verdict = judge(request.url)
    if ('refusal' in verdict) throw refused(verdict.refusal)
    const { url } = verdict
    const kept = pool.take(url.origin)
    try {
      if (kept) return await over(kept, url, request, run)
    } catch (error) {
      // The server closed it just as we wrote (RFC 9112, 9.3.1). On a new connection it may not happen again.
      if (!(error instanceof DialFault && error.isUnheard)) throw error
    }
    return over(await pool.open(url, run), url, request, run)
  }

  return {
    async post(request) {
      const startedAt = performance.now()
      const run = startRun(request.deadlineMs, request.signal)
      const durationMs = () => Math.round(performance.now() - startedAt)
      running.add(run)
      try {
        if (isClosed) throw new DialFault('aborted', 'the service stops')
        const answer = await send(request, run)
        return { kind: 'answered', ...answer, address: run.address ?? '', durationMs: durationMs() }
      } catch (error) {
        const { failure, message: detail } = asFault(error)
        return { kind: 'failed', failure, detail, address: run.address, durationMs: durationMs() }
      } finally {
        run.finish()
        running.delete(run)
      }
    },
    async close() {
      isClosed = true
      for (const run of running) run.stop(new DialFault('aborted', 'the service stops'))
      await pool.close()
    },
  }
}

const refused = (refusal: string) =>
  new DialFault('address_forbidden', refusal.replace(/^must /, 'the URL must '))

function asFault(error: unknown): DialFault {
  if (error instanceof DialFault) return error
  const name = error instanceof Error ? error.name : typeof error
  return new DialFault('connection_failed', `the request cannot be sent (${name})`)
}
