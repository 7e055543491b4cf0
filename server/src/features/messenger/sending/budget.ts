/**
 * Limits the bot to 30 messages a second, as the provider requires. Chats that are not linked get at most a third of
 * them, and so do failing chats. Pauses all messages if the provider reports too many.
 */
import { SECOND } from '../../../lib/clock.ts'

/** The rate limit. A message counts until the time `WITHIN` after its latest possible arrival. */
const MAX_SENT = 30
const WITHIN = SECOND + 10
/** A message without a response after this time has arrived or is lost. Its slot is then free again. */
const ARRIVES_WITHIN = 100
const MAX_SENT_OF = { known: MAX_SENT, failing: 10, stranger: 10 }
/** This many refused chats within the time `NEAR`, without an arrival in between, indicate a limit on the whole bot. */
const SUSPECT = 4
const NEAR = 5 * SECOND
const FIRST_HOLD = SECOND

/** The ranks of chats by priority: linked chats that accept messages, linked chats that fail, and all other chats. */
export const RANKS = ['known', 'failing', 'stranger'] as const
export type Rank = (typeof RANKS)[number]

/** The result of a message, as far as it affects the rate limit. */
export type SendEnding =
  | { kind: 'arrived' }
  /** The provider has requested fewer messages to the chat. */
  | { kind: 'limited'; chat: string; retryMs: number }
  /** The message was not sent, because nothing was waiting. */
  | { kind: 'unsent' }
  /** The result is unknown, for example because there was no response. */
  | { kind: 'failed' }

/** The reserved slot of a message. The caller must end the slot with the result of the message. */
export interface SendSlot {
  sent(): void
  end(ending: SendEnding): void
}

export interface ChatBudget {
  /** Reserves and returns a slot for a message, or returns the milliseconds until a slot is available. */
  take(rank: Rank): SendSlot | number
}

/** Opens a budget without free slots, because another process may just have sent. `now` is monotonic, in ms. */
export function openChatBudget(now: () => number): ChatBudget {
  /** The messages that count against the limit, and until when. Infinite for messages that are not sent yet. */
  let taken: { rank: Rank | undefined; until: number }[] = Array.from({ length: MAX_SENT }, () => ({
    rank: undefined,
    until: now() + WITHIN,
  }))
  /** The chats that were refused since the last message that arrived, with the time of each refusal. */
  const refused = new Map<string, { at: number; retryMs: number }>()
  let pauses = 0
  let pausedUntil = 0
  /** The first message after a pause, called the probe. No other message is sent until the probe has ended. */
  let probe: 'none' | 'due' | SendSlot = 'none'

  /** Returns the milliseconds until fewer than `most` messages (of `rank`, if given) count against the limit. */
  function waitOf(most: number, rank?: Rank): number {
    const ends = taken.flatMap((one) => (!rank || one.rank === rank ? one.until : []))
    if (ends.length < most) return 0
    return Math.min(...ends, now() + WITHIN) - now()
  }

  function pauseFor(ms: number): void {
    pausedUntil = now() + ms
    probe = 'due'
  }

  function limited(chat: string, retryMs: number, isProbe: boolean): void {
    for (const [other, { at }] of refused) if (now() - at > NEAR) refused.delete(other)
    refused.set(chat, { at: now(), retryMs })
    if (!isProbe && refused.size < SUSPECT) return
    // Counts refusals only once for messages that were sent together, because all of them may be refused.
    if (!isProbe && pausedUntil > now()) return
    const shortest = Math.min(...[...refused.values()].map((one) => one.retryMs))
    pauseFor(Math.min(FIRST_HOLD * 2 ** pauses, shortest))
    pauses += 1
  }

  function placeOf(rank: Rank): SendSlot {
    const own = { rank, until: Number.POSITIVE_INFINITY }
    taken.push(own)
    const place: SendSlot = {
      sent() {
        own.until = now() + ARRIVES_WITHIN + WITHIN
      },
      end(ending) {
        own.until = Math.min(own.until, now() + WITHIN)
        const isProbe = probe === place
        if (ending.kind === 'arrived') {
          refused.clear()
          pauses = 0
          probe = 'none'
        } else if (ending.kind === 'limited' && rank !== 'failing')
          limited(ending.chat, ending.retryMs, isProbe)
        else if (ending.kind === 'unsent') {
          own.until = now()
          if (isProbe) probe = 'due'
        }
        // Pauses before another probe. A failed probe, or one to a failing chat, does not show that the limit is over.
        else if (isProbe) pauseFor(FIRST_HOLD)
      },
    }
    return place
  }

  return {
    take(rank) {
      const pause = pausedUntil - now()
      if (pause > 0) return pause
      if (typeof probe === 'object') return SECOND
      taken = taken.filter(({ until }) => until > now())
      const wait = Math.max(waitOf(MAX_SENT), waitOf(MAX_SENT_OF[rank], rank))
      if (wait > 0) return wait
      const place = placeOf(rank)
      if (probe === 'due') probe = place
      return place
    },
  }
}
