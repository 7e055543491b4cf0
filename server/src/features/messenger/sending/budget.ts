/**
 * How many messages the bot may send: 30 a second in all by the provider's rule, of which strangers get
 * a third at the most, and so do chats that fail. Held back as a whole where the provider says that it
 * was too much.
 */
import { SECOND } from '../../../lib/clock.ts'

/** A message counts from when it gets its place until this long after it must have arrived. */
const MAX_SENT = 30
const WITHIN = SECOND + 10
/** Whatever has no answer by then has arrived, or will not: those that stall hold up nobody else. */
const ARRIVES_WITHIN = 100
const MAX_SENT_OF = { known: MAX_SENT, failing: 10, stranger: 10 }
/**
 * Refusals of so many chats so close to each other, with no message between them that arrived, are about the bot and not
 * about these chats.
 */
const SUSPECT = 4
const NEAR = 5 * SECOND
const FIRST_HOLD = SECOND

/** Chats that are linked and take messages, those that are linked and fail, and any others; in this order. */
export const RANKS = ['known', 'failing', 'stranger'] as const
export type Rank = (typeof RANKS)[number]

/** What came of a message. */
export type Ending =
  | { kind: 'arrived' }
  /** The chat was to be sent to less often. */
  | { kind: 'limited'; chat: string; retryMs: number }
  /** Nothing was to be sent after all. */
  | { kind: 'unsent' }
  /** Nothing can be said of it. */
  | { kind: 'failed' }

/** A message's place, which has to be ended, however the message does. */
export interface Place {
  /** It goes out now, which took its time: it had to be made first. */
  sent(): void
  end(ending: Ending): void
}

export interface Budget {
  /** Returns a message's place, or the milliseconds until there is one. */
  take(rank: Rank): Place | number
}

/**
 * Opens a budget that begins as spent: who was the bot before may have sent as much until now.
 * @param now milliseconds of a clock that only goes on
 */
export function openBudget(now: () => number): Budget {
  /** The messages that count, and until when; for ever where it is not sent yet. */
  let taken: { rank: Rank | undefined; until: number }[] = Array.from({ length: MAX_SENT }, () => ({
    rank: undefined,
    until: now() + WITHIN,
  }))
  /** The chats that were refused since a message arrived, and when. */
  const refused = new Map<string, { at: number; retryMs: number }>()
  let holds = 0
  let heldUntil = 0
  /** After a hold one message goes ahead; while it is under way, no other. */
  let probe: 'none' | 'due' | Place = 'none'

  /** Returns the milliseconds until fewer than `most` messages count: of a rank, or in all. */
  function waitOf(most: number, rank?: Rank): number {
    const ends = taken.flatMap((one) => (!rank || one.rank === rank ? one.until : []))
    if (ends.length < most) return 0
    return Math.min(...ends, now() + WITHIN) - now()
  }

  function hold(ms: number): void {
    heldUntil = now() + ms
    probe = 'due'
  }

  function limited(chat: string, retryMs: number, isProbe: boolean): void {
    for (const [other, { at }] of refused) if (now() - at > NEAR) refused.delete(other)
    refused.set(chat, { at: now(), retryMs })
    if (!isProbe && refused.size < SUSPECT) return
    // Those that were under way together are one refusal.
    if (!isProbe && heldUntil > now()) return
    const shortest = Math.min(...[...refused.values()].map((one) => one.retryMs))
    hold(Math.min(FIRST_HOLD * 2 ** holds, shortest))
    holds += 1
  }

  function placeOf(rank: Rank): Place {
    const own = { rank, until: Number.POSITIVE_INFINITY }
    taken.push(own)
    const place: Place = {
      sent() {
        own.until = now() + ARRIVES_WITHIN + WITHIN
      },
      end(ending) {
        own.until = Math.min(own.until, now() + WITHIN)
        const isProbe = probe === place
        if (ending.kind === 'arrived') {
          refused.clear()
          holds = 0
          probe = 'none'
        } else if (ending.kind === 'limited' && rank !== 'failing')
          limited(ending.chat, ending.retryMs, isProbe)
        else if (ending.kind === 'unsent') {
          own.until = now()
          if (isProbe) probe = 'due'
        }
        // It has told nothing of the bot, nor has the refusal of a chat that fails anyway: another goes ahead.
        else if (isProbe) hold(FIRST_HOLD)
      },
    }
    return place
  }

  return {
    take(rank) {
      const held = heldUntil - now()
      if (held > 0) return held
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
