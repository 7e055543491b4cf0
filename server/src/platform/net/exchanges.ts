/** Sends HTTP requests over pooled connections. An exchange is one request and its response, within a deadline. */
import type { ConnectionRequest, Fields, HttpConnection, RawAnswer } from './connection.ts'
import { type ExchangeContext, type StartedExchange, startExchange } from './context.ts'
import type { Dial } from './dial.ts'
import { DialError, type DialFailure } from './dial-error.ts'
import { openConnectionPool } from './pool.ts'

/** A request that received a response. `address` is the server's IP address without the port. */
interface Answered {
  kind: 'answered'
  status: number
  address: string
  durationMs: number
}

export interface FailedExchange {
  kind: 'failed'
  failure: DialFailure
  /** A message for people. It contains only the host of the URL. */
  detail: string
  address: string | null
  durationMs: number
}

/** The result of an exchange that returns the body as text. */
export type Exchange =
  | (Answered & {
      /** The value of the Retry-After header, if the response has one. */
      retryAfter: string | undefined
      /** The stored beginning of the response body. */
      body: string
    })
  | FailedExchange

/** The result of an exchange that returns the body as bytes, with the response headers. */
export type Transfer = (Answered & { fields: Fields; body: Buffer }) | FailedExchange

export interface ExchangeRequest extends Omit<ConnectionRequest, 'url'> {
  /** The deadline for the whole exchange, from the DNS query to the last byte of the response. */
  deadlineMs: number
  signal?: AbortSignal | undefined
  /**
   * True if the server may receive the request twice without harm (RFC 9110, 9.2.2). Only such requests use a pooled
   * connection, because the server may close that connection while the request is being written.
   */
  isRepeatable: boolean
}

export interface Exchanges {
  /**
   * Sends one request and never follows redirects. Failures do not throw. The result then has the kind `failed`.
   * @param target returns the URL, or throws the DialError with which the exchange fails
   */
  exchange(request: ExchangeRequest, target: () => URL): Promise<Exchange>
  /** Works like `exchange`, but returns the body as bytes. */
  transfer(request: ExchangeRequest, target: () => URL): Promise<Transfer>
  /** Closes idle connections and aborts running exchanges. */
  close(): Promise<void>
}

/**
 * Creates the exchanges.
 * @param idleMs how long a connection stays open for the next request, unless its server specifies a time
 */
export function openExchanges(dial: Dial, idleMs: number): Exchanges {
  const pool = openConnectionPool(dial, idleMs)
  const running = new Set<StartedExchange>()
  let isClosed = false

  function over(connection: HttpConnection, request: ConnectionRequest, context: ExchangeContext) {
    // Without this header, the response could have any content coding (RFC 9110, 12.5.3).
    const headers = { 'accept-encoding': 'identity', ...request.headers }
    return connection.send({ ...request, headers }, context)
  }

  async function keeping(
    connection: HttpConnection,
    request: ConnectionRequest,
    context: ExchangeContext,
  ): Promise<RawAnswer> {
    const answer = await over(connection, request, context)
    pool.keep(connection)
    return answer
  }

  async function sendOnce(
    request: ConnectionRequest,
    context: ExchangeContext,
  ): Promise<RawAnswer> {
    const connection = await pool.open(request.url, context)
    try {
      return await over(connection, request, context)
    } finally {
      void connection.end()
    }
  }

  async function send(request: ConnectionRequest, context: ExchangeContext): Promise<RawAnswer> {
    const kept = pool.take(request.url.origin)
    try {
      if (kept) return await keeping(kept, request, context)
    } catch (error) {
      // The server has closed the pooled connection during the write (RFC 9112, 9.3.1). A new connection may work.
      if (!(error instanceof DialError && error.noResponseBytes)) throw error
    }
    return keeping(await pool.open(request.url, context), request, context)
  }

  async function run(
    request: ExchangeRequest,
    target: () => URL,
  ): Promise<(Answered & RawAnswer) | FailedExchange> {
    const startedAt = performance.now()
    const context = startExchange(request.deadlineMs, request.signal)
    const durationMs = () => Math.round(performance.now() - startedAt)
    running.add(context)
    try {
      if (isClosed) throw new DialError('aborted', 'the service is shutting down')
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
      for (const context of running)
        context.stop(new DialError('aborted', 'the service is shutting down'))
      await pool.close()
    },
  }
}

function asDialError(error: unknown): DialError {
  if (error instanceof DialError) return error
  const name = error instanceof Error ? error.name : typeof error
  return new DialError('connection_failed', `the request could not be sent (${name})`)
}
