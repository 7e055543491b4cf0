/**
 * How many messages the bot may send: 30 a second in all by the provider's rule, of which strangers get
 * a third at the most, and so do chats that fail. Held back as a whole where the provider says that it
 * was too much.
 */
import { SECOND } from '../../../lib/clock.ts'

/** One below the rule in a little more than a second: what is sent evenly arrives less so. */
const MAX_SENT = 29
const WITHIN = SECOND + 30
const MAX_SENT_OF: Record<Rank, number> = { known: MAX_SENT, failing: 10, stranger: 10 }
/** Refusals of two chats so close to each other are about the bot, not about a chat. */
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
  const all: number[] = Array(MAX_SENT).fill(now())
  const taken: Record<Rank, number[]> = { known: [], failing: [], stranger: [] }
  let last: { chat: string; at: number; retryMs: number } | undefined
  let holds = 0
  let heldUntil = 0
  /** After a hold one message goes ahead; while it is under way, no other. */
  let probe: 'none' | 'due' | Place = 'none'

  function waitOf(times: number[], most: number): number {
    while (times.length > 0 && (times[0] as number) <= now() - WITHIN) times.shift()
    return times.length < most ? 0 : (times[0] as number) + WITHIN - now()
  }

  function giveBack(times: number[], at: number): void {
    const index = times.lastIndexOf(at)
    if (index >= 0) times.splice(index, 1)
  }

  function hold(ms: number): void {
    heldUntil = now() + ms
    probe = 'due'
  }

  function limited(chat: string, retryMs: number, isProbe: boolean): void {
    const before = last
    last = { chat, at: now(), retryMs }
    const isNear = before && before.chat !== chat && last.at - before.at <= NEAR
    if (!isProbe && !isNear) return
    // Those that were under way together are one refusal.
    if (!isProbe && heldUntil > now()) return
    const shortest = Math.min(retryMs, before?.retryMs ?? retryMs)
    hold(Math.min(FIRST_HOLD * 2 ** holds, shortest))
    holds += 1
  }

  function placeAt(at: number, rank: Rank): Place {
    const place: Place = {
      end(ending) {
        const isProbe = probe === place
        if (ending.kind === 'arrived') {
          last = undefined
          holds = 0
          probe = 'none'
        } else if (ending.kind === 'limited') limited(ending.chat, ending.retryMs, isProbe)
        else if (ending.kind === 'unsent') {
          giveBack(all, at)
          giveBack(taken[rank], at)
          if (isProbe) probe = 'due'
        }
        // It has answered nothing: another one goes ahead in its place.
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
      const wait = Math.max(waitOf(all, MAX_SENT), waitOf(taken[rank], MAX_SENT_OF[rank]))
      if (wait > 0) return wait
      const at = now()
      all.push(at)
      taken[rank].push(at)
      const place = placeAt(at, rank)
      if (probe === 'due') probe = place
      return place
    },
  }
}
