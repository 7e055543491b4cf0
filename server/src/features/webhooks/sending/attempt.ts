/** Makes one attempt of a delivery: signs the message, sends it with POST, and returns the result. */
import type { KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../../lib/clock.ts'
import { DIAL_FAILURES, type Exchange, type Outbound } from '../../../platform/net/index.ts'
import { type EventEntry, messageBody, messageId } from '../events/message.ts'
import { signatureOf } from './signature.ts'

/** The deadline of one attempt in milliseconds, from the DNS lookup to the last byte of the response. */
export const DEADLINE_MS = 15_000
const MAX_KEPT = 1000
/** The maximum number of bytes that are stored of a response body. */
export const KEPT_BYTES = 1024

/** The error codes of failed attempts: network errors, and `status` for a response other than 2xx. */
export const ATTEMPT_ERRORS = [...DIAL_FAILURES, 'status'] as const
export type AttemptError = (typeof ATTEMPT_ERRORS)[number]

export interface Attempt {
  started_at: string
  duration_ms: number
  status_code: number | null
  error: AttemptError | null
  detail: string | null
  /** The IP address that was contacted, or null if no connection was tried. */
  address: string | null
  response_body: string | null
  /** The `Retry-After` header of the response, exactly as received. */
  retry_after: string | null
}

export interface Target {
  url: string
  /** The signing keys of all valid secrets, the current one first. Prepared once for many messages. */
  keys: readonly KeyObject[]
}

export type SendMessage = (
  target: Target,
  entry: EventEntry,
  signal?: AbortSignal,
) => Promise<Attempt>

/** Returns the headers that are the same in every attempt of a message, in every release. */
export const fixedHeaders = (id: string) => ({
  'content-type': 'application/json',
  'webhook-id': id,
})

/** Creates the function that sends messages. `version` is the service's version, for the `user-agent` header. */
export function sender(deps: { outbound: Outbound; clock: Clock; version: string }): SendMessage {
  const { outbound, clock } = deps
  const agent = `Wardkeep/${deps.version}`
  const made = new LRUCache<number, { id: string; body: Buffer }>({ max: MAX_KEPT })

  /** Returns the message for a journal entry. Caches messages, because one event usually goes to several webhooks. */
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
    // Creates a new timestamp and signature for each attempt, because receivers reject old signatures.
    const timestamp = Math.floor(startedAt / 1000)
    const exchange = await outbound.post({
      url,
      headers: {
        ...fixedHeaders(id),
        'user-agent': agent,
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
    ? `the receiver responded with ${status}. Redirects are not followed, so register the final URL`
    : `the receiver responded with ${status}`
}
