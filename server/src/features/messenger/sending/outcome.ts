/** Determines the outcome of a message from the provider's response. */
import { SECOND } from '../../../lib/clock.ts'
import type { UnlinkReason } from '../linking/mails.ts'

/** An error response of the provider. */
export interface ChatRefusal {
  code: number
  description: string
  /** The requested wait in seconds, from one second to one day. */
  retryAfter: number | undefined
}

export type SendOutcome =
  | { kind: 'sent' }
  /** The chat is rate-limited. `retryMs` is the time in milliseconds until the next message may be sent. */
  | { kind: 'limited'; retryMs: number }
  /** The result is unknown. The message may have arrived. */
  | { kind: 'failed' }
  | { kind: 'gone'; reason: UnlinkReason }
  /** The chat does not accept the message now, but may do so later. */
  | { kind: 'refused' }
  /** The provider rejects this message, and would reject it again. */
  | { kind: 'unsendable' }
  | { kind: 'token refused' }

/** The wait after a 429 response without a requested wait. */
const DEFAULT_RETRY_MS = 5 * SECOND

/** Returns the outcome of an error response. Null means that the response was missing or unreadable. */
export function judge(refusal: ChatRefusal | null): SendOutcome {
  if (!refusal || refusal.code >= 500) return { kind: 'failed' }
  const { code, description, retryAfter } = refusal
  if (code === 429)
    return {
      kind: 'limited',
      retryMs: retryAfter === undefined ? DEFAULT_RETRY_MS : retryAfter * SECOND,
    }
  if (code === 401 || code === 404) return { kind: 'token refused' }
  if (code === 403 && /blocked by the user/i.test(description))
    return { kind: 'gone', reason: 'blocked' }
  if (code === 403 && /user is deactivated/i.test(description))
    return { kind: 'gone', reason: 'deactivated' }
  if (code === 403 || (code === 400 && /chat not found/i.test(description)))
    return { kind: 'refused' }
  if (code === 400) return { kind: 'unsendable' }
  return { kind: 'failed' }
}
