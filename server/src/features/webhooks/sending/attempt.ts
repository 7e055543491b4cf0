/** One try of a delivery: signs the message anew, posts it, and says how it went in the words of the API. */
import type { KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../../lib/clock.ts'
import { DIAL_FAILURES, type Exchange, type Outbound } from '../../../platform/net/index.ts'
import { type EventEntry, messageBody, messageId } from '../events/message.ts'
import { signatureOf } from './signature.ts'

/** Over the whole exchange, from the question for the address to the answer's last byte. */
export const DEADLINE_MS = 15_000
const MAX_KEPT = 1000
/** How much of an answer is kept. */
export const KEPT_BYTES = 1024

/** Why a try failed: it could not be made, or the answer was no success. */
export const ATTEMPT_ERRORS = [...DIAL_FAILURES, 'status'] as const
export type AttemptError = (typeof ATTEMPT_ERRORS)[number]

/** A try as it is kept and shown. */
export interface Attempt {
  started_at: string
  duration_ms: number
  status_code: number | null
  error: AttemptError | null
  detail: string | null
  /** The IP address that was dialled; null when none was. */
  address: string | null
  response_body: string | null
  /** The `Retry-After` header as it came. */
  retry_after: string | null
}

export interface Target {
  url: string
  /** The living secrets' keys, the current one first, set up once for many messages. */
  keys: readonly KeyObject[]
}

export type Send = (target: Target, entry: EventEntry, signal?: AbortSignal) => Promise<Attempt>

/** @param version of the service, for the `user-agent` */
export function sender(deps: { outbound: Outbound; clock: Clock; version: string }): Send {
  const { outbound, clock } = deps
  const agent = `Wardkeep/${deps.version}`
  const made = new LRUCache<number, { id: string; body: Buffer }>({ max: MAX_KEPT })

  /** Kept for a while, as one event mostly goes to several webhooks. */
  function messageOf(entry: EventEntry) {
    const id = messageId(entry)
    const known = made.get(entry.id)
    if (known?.id === id) return known
    const message = { id, body: Buffer.from(messageBody(entry)) }
    made.set(entry.id, message)
    return message
  }

  return async ({ url, keys }, entry, signal) => {
    const startedAt = clock.now()
    const { id, body } = messageOf(entry)
    // Receivers refuse what is signed too long ago, so every try has a time and a signature of its own.
    const timestamp = Math.floor(startedAt / 1000)
    const exchange = await outbound.post({
      url,
      headers: {
        'content-type': 'application/json',
        'user-agent': agent,
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signatureOf(keys, id, timestamp, body),
      },
      body,
      deadlineMs: DEADLINE_MS,
      keepBytes: KEPT_BYTES,
      ...(signal ? { signal } : {}),
    })
    return attemptOf(new Date(startedAt).toISOString(), exchange)
  }
}

function attemptOf(started_at: string, exchange: Exchange): Attempt {
  const { address } = exchange
  const common = { started_at, duration_ms: Math.round(exchange.durationMs), address }
  if (exchange.kind === 'failed')
    return {
      ...common,
      status_code: null,
      error: exchange.failure,
      detail: exchange.detail,
      response_body: null,
      retry_after: null,
    }
  const { status, body, retryAfter } = exchange
  const isSuccess = status >= 200 && status < 300
  return {
    ...common,
    status_code: status,
    error: isSuccess ? null : 'status',
    detail: isSuccess ? null : refusal(status),
    response_body: body,
    retry_after: retryAfter ?? null,
  }
}

function refusal(status: number): string {
  return status >= 300 && status < 400
    ? `the receiver answered ${status}; redirects are not followed, register the final address`
    : `the receiver answered ${status}`
}
