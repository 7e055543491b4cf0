/** paygate's API: asked with the shop's credentials, few questions at once, and never believed blindly. */
import { SECOND } from '../../../lib/clock.ts'
import type { Exchange, Upstream } from '../../../platform/net/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { openTurns } from '../../../platform/throttle/index.ts'
import { exactly, isObject, type JsonObject } from '../provider-json.ts'

const DEADLINE_MS = 10 * SECOND
/** Questions under way on a node, whoever asks. */
export const MAX_AT_ONCE = 8
const PAGE = 100

export type Answer =
  /** `askedAt` is when it was asked, by the one clock of all nodes: what it says is no older. */
  | { is: 'said'; object: JsonObject; askedAt: number }
  /** There is no such thing, or not yet. */
  | { is: 'missing' }
  /** The credentials are refused. */
  | { is: 'refused' }
  /** No answer, or none that could be meant. */
  | { is: 'away' }

export interface PaygateApi {
  /** @param id such as may stand in a path */
  payment(id: string, signal: AbortSignal): Promise<Answer>
  refund(id: string, signal: AbortSignal): Promise<Answer>
  /** A page of the payments made since (ISO 8601). @param cursor of the page before; null for the first */
  payments(since: string, cursor: string | null, signal: AbortSignal): Promise<Answer>
}

export interface PaygateApiOptions {
  upstream: Upstream
  /** `PAYGATE_API_URL`. */
  url: string
  shopId: string
  secretKey: string
  /** Of one clock for all nodes, ms since the epoch. */
  now: () => Promise<number>
  log: Logger
}

export function openPaygateApi(options: PaygateApiOptions): PaygateApi {
  const { upstream, url, shopId, secretKey, now, log } = options
  // RFC 7617.
  const credentials = Buffer.from(`${shopId}:${secretKey}`).toString('base64')
  const headers = { accept: 'application/json', authorization: `Basic ${credentials}` }
  const inTurn = openTurns(MAX_AT_ONCE)

  async function send(path: string, signal: AbortSignal) {
    // Not before its turn: of two nodes that ask, the one that has waited may well hear the newer answer.
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

  async function ask(what: string, path: string, signal: AbortSignal): Promise<Answer> {
    const { exchange, askedAt } = await inTurn('paygate', () => send(path, signal))
    const answer = meaningOf(exchange, askedAt)
    const { durationMs: ms } = exchange
    const fields = { provider: 'paygate', what, ms, is: answer.is, ...outcomeOf(exchange) }
    if (answer.is === 'said') log.debug(fields, 'asked a provider')
    else log.info(fields, 'asked a provider in vain')
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

function meaningOf(exchange: Exchange, askedAt: number): Answer {
  if (exchange.kind === 'failed') return { is: 'away' }
  const { status, body } = exchange
  if (status === 401 || status === 403) return { is: 'refused' }
  if (status === 404) return { is: 'missing' }
  const object = status === 200 ? exactly(Buffer.from(body)) : undefined
  return isObject(object) ? { is: 'said', object, askedAt } : { is: 'away' }
}

/** For the log: nothing of what was said. */
const outcomeOf = (exchange: Exchange) =>
  exchange.kind === 'answered'
    ? { status: exchange.status }
    : { failure: exchange.failure, detail: exchange.detail }
