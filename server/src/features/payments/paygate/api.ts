/** The client of paygate's API. Sends the shop's credentials, limits concurrency and validates every response. */
import { SECOND } from '../../../lib/clock.ts'
import { keyedQueue } from '../../../lib/keyed-queue.ts'
import type { Exchange, Upstream } from '../../../platform/net/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { exactly, isObject, type JsonObject } from '../provider-json.ts'

const DEADLINE_MS = 10 * SECOND
/** The maximum number of concurrent requests of a node, over all callers. */
export const MAX_AT_ONCE = 8
const PAGE = 100

export type PaygateAnswer =
  /** The API returned an object. Its state is from `askedAt`, the request's time by the database's clock, or later. */
  | { is: 'said'; object: JsonObject; askedAt: number }
  /** The API has no such object, or does not have it yet. */
  | { is: 'missing' }
  /** The API rejected the credentials. */
  | { is: 'refused' }
  /** The API did not respond, or its response was invalid. */
  | { is: 'away' }

export interface PaygateApi {
  /** Fetches a payment. @param id must be safe in a path (`isAskable`) */
  payment(id: string, signal: AbortSignal): Promise<PaygateAnswer>
  refund(id: string, signal: AbortSignal): Promise<PaygateAnswer>
  /** Fetches payments created since `since` (ISO 8601). `cursor` is the previous page's `next_cursor`, or null. */
  payments(since: string, cursor: string | null, signal: AbortSignal): Promise<PaygateAnswer>
}

export interface PaygateApiOptions {
  upstream: Upstream
  /** `PAYGATE_API_URL`. */
  url: string
  shopId: string
  secretKey: string
  /** Returns the time of a clock that all nodes share, in milliseconds since the epoch. */
  now: () => Promise<number>
  log: Logger
}

export function openPaygateApi(options: PaygateApiOptions): PaygateApi {
  const { upstream, url, shopId, secretKey, now, log } = options
  const credentials = Buffer.from(`${shopId}:${secretKey}`).toString('base64')
  const headers = { accept: 'application/json', authorization: `Basic ${credentials}` }
  const queue = keyedQueue<string>({ perKey: MAX_AT_ONCE })

  async function send(path: string, signal: AbortSignal) {
    // Reads the clock after the wait in the queue. The response is at least as recent as this time.
    const askedAt = await now()
    const exchange = await upstream.send({
      method: 'GET',
      url: `${url}/${path}`,
      headers,
      deadlineMs: DEADLINE_MS,
      signal,
    })
    return { exchange, askedAt }
  }

  async function ask(what: string, path: string, signal: AbortSignal): Promise<PaygateAnswer> {
    const { exchange, askedAt } = await queue.run('paygate', () => send(path, signal))
    const answer = meaningOf(exchange, askedAt)
    const { durationMs: ms } = exchange
    const fields = { provider: 'paygate', what, ms, is: answer.is, ...outcomeOf(exchange) }
    if (answer.is === 'said') log.debug(fields, 'payment provider request completed')
    else log.info(fields, 'payment provider request failed')
    return answer
  }

  return {
    payment: (id, signal) => ask('payment', `payments/${id}`, signal),
    refund: (id, signal) => ask('refund', `refunds/${id}`, signal),
    payments: (since, cursor, signal) => {
      const query = new URLSearchParams({ 'created_at.gte': since, limit: String(PAGE) })
      if (cursor !== null) query.set('cursor', cursor)
      return ask('payments', `payments?${query}`, signal)
    },
  }
}

function meaningOf(exchange: Exchange, askedAt: number): PaygateAnswer {
  if (exchange.kind === 'failed') return { is: 'away' }
  const { status, body } = exchange
  if (status === 401 || status === 403) return { is: 'refused' }
  if (status === 404) return { is: 'missing' }
  const object = status === 200 ? exactly(Buffer.from(body)) : undefined
  return isObject(object) ? { is: 'said', object, askedAt } : { is: 'away' }
}

/** Returns the log fields of an exchange, without any content of the response. */
const outcomeOf = (exchange: Exchange) =>
  exchange.kind === 'answered'
    ? { status: exchange.status }
    : { failure: exchange.failure, detail: exchange.detail }
