/** What became of a message, by what the provider has answered. */
import { SECOND } from '../../../lib/clock.ts'
import type { UnlinkReason } from '../linking/letters.ts'

/** An answer of the provider that is no success; null where there was none that could be read. */
export interface Refusal {
  code: number
  description: string
  /** Seconds, from one to a day of them. */
  retryAfter: number | undefined
}

export type Outcome =
  | { kind: 'sent' }
  /** The chat is to be left alone for so long. */
  | { kind: 'limited'; retryMs: number }
  /** Nothing can be said of it; it may have arrived. */
  | { kind: 'failed' }
  /** The chat takes nothing more. */
  | { kind: 'gone'; reason: UnlinkReason }
  /** The chat does not take it now; it may again. */
  | { kind: 'refused' }
  /** This message is not taken, and would not be the next time. */
  | { kind: 'unsendable' }
  /** The token is good no more. */
  | { kind: 'token refused' }

/** Where it does not say how long. */
const UNTOLD = 5 * SECOND

/** Returns what a refusal means; null is one that could not be read, such as a lost connection. */
export function judge(refusal: Refusal | null): Outcome {
  if (!refusal || refusal.code >= 500) return { kind: 'failed' }
  const { code, description, retryAfter } = refusal
  if (code === 429)
    return { kind: 'limited', retryMs: retryAfter === undefined ? UNTOLD : retryAfter * SECOND }
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
