/** Exchanges: one request and its answer each, within a deadline, over pooled connections. */
import type { Answer, Connection, ConnectionRequest, Fields } from './connection.ts'
import { type ExchangeContext, type StartedExchange, startExchange } from './context.ts'
import type { Dial } from './dial.ts'
import { DialError, type DialFailure } from './dial-error.ts'
import { openConnectionPool } from './pool.ts'

/** A request that was answered; `address` (without the port) is the one that was talked to. */
interface Answered {
  kind: 'answered'
  status: number
  address: string
  durationMs: number
}

export interface Failed {
  kind: 'failed'
  failure: DialFailure
  /** For people, and holds nothing of the URL but its host. */
  detail: string
  address: string | null
  durationMs: number
}

/** How a request went whose answer is text. */
export type Exchange =
  | (Answered & {
      /** The Retry-After header as it came, if there was one. */
      retryAfter: string | undefined
      /** The beginning of the body. */
      body: string
    })
  | Failed

/** How a request went whose answer is bytes, and has a header that matters. */
export type Transfer = (Answered & { fields: Fields; body: Buffer }) | Failed

export interface ExchangeRequest extends Omit<ConnectionRequest, 'url'> {
  /** For everything, from the question to DNS to the answer's last byte. */
  deadlineMs: number
  signal?: AbortSignal | undefined
  /**
   * Whether it may reach the server twice (RFC 9110, 9.2.2). Only such a request goes over a kept
   * connection, which its server may close as the request is written.
   */
  isRepeatable: boolean
}

export interface Exchanges {
  /**
   * One request, never following a redirect; whatever goes wrong is an answer of kind `failed`.
   * @param target says where it goes, or throws the DialError that it fails with
   */
  exchange(request: ExchangeRequest, target: () => URL): Promise<Exchange>
  /** As `exchange`, for bytes. */
  transfer(request: ExchangeRequest, target: () => URL): Promise<Transfer>
  /** Ends idle connections and whatever still runs. */
  close(): Promise<void>
}

/** @param idleMs how long a connection is kept for the next request, unless its server says otherwise */
export function openExchanges(dial: Dial, idleMs: number): Exchanges {
  const pool = openConnectionPool(dial, idleMs)
  const running = new Set<StartedExchange>()
  let isClosed = false

  function over(connection: Connection, request: ConnectionRequest, context: ExchangeContext) {
    // RFC 9110, 12.5.3: without the header any coding of the answer would do.
    const headers = { 'accept-encoding': 'identity', ...request.headers }
    return connection.send({ ...request, headers }, context)
  }

  async function keeping(
    connection: Connection,
    request: ConnectionRequest,
    context: ExchangeContext,
  ): Promise<Answer> {
    const answer = await over(connection, request, context)
    pool.keep(connection)
    return answer
  }

  async function sendOnce(request: ConnectionRequest, context: ExchangeContext): Promise<Answer> {
    const connection = await pool.open(request.url, context)
    try {
      return await over(connection, request, context)
    } finally {
      void connection.end()
    }
  }

  async function send(request: ConnectionRequest, context: ExchangeContext): Promise<Answer> {
    const kept = pool.take(request.url.origin)
    try {
      if (kept) return await keeping(kept, request, context)
    } catch (error) {
      // The server closed it just as we wrote (RFC 9112, 9.3.1). On a new connection it may not happen again.
      if (!(error instanceof DialError && error.noResponseBytes)) throw error
    }
    return keeping(await pool.open(request.url, context), request, context)
  }

  async function run(
    request: ExchangeRequest,
    target: () => URL,
  ): Promise<(Answered & Answer) | Failed> {
    const startedAt = performance.now()
    const context = startExchange(request.deadlineMs, request.signal)
    const durationMs = () => Math.round(performance.now() - startedAt)
    running.add(context)
    try {
      if (isClosed) throw new DialError('aborted', 'the service stops')
      const sending = request.isRepeatable ? send : sendOnce
      const answer = await sending({ ...request, url: target() }, context)
      return {
        kind: 'answered',
        ...answer,
        address: context.address ?? '',
        durationMs: durationMs(),
      }
    } catch (error) {
      const { failure, message: detail } = asDialError(error)
      return {
        kind: 'failed',
        failure,
        detail,
        address: context.address,
        durationMs: durationMs(),
      }
    } finally {
      context.finish()
      running.delete(context)
    }
  }

  return {
    async exchange(request, target) {
      const outcome = await run(request, target)
      if (outcome.kind === 'failed') return outcome
      const { fields, body, ...answered } = outcome
      const after = fields['retry-after']
      const retryAfter = typeof after === 'string' ? after : undefined
      return { ...answered, retryAfter, body: body.text() }
    },
    async transfer(request, target) {
      const outcome = await run(request, target)
      return outcome.kind === 'failed' ? outcome : { ...outcome, body: outcome.body.bytes() }
    },
    async close() {
      isClosed = true
      for (const context of running) context.stop(new DialError('aborted', 'the service stops'))
      await pool.close()
    },
  }
}

function asDialError(error: unknown): DialError {
  if (error instanceof DialError) return error
  const name = error instanceof Error ? error.name : typeof error
  return new DialError('connection_failed', `the request cannot be sent (${name})`)
}
