/**
 * How many messages the bot may send: 30 a second in all by the provider's rule, of which strangers and
 * chats that fail get a third at the most. Held back as a whole where the provider says that it was too much.
 */
import { SECOND } from '../../../lib/clock.ts'

/** One below the rule in a little more than a second: what is sent evenly arrives less so. */
const MOST = 29
const WITHIN = SECOND + 30
const MOST_LESSER = 10
/** Refusals of two chats so close to each other are about the bot, not about a chat. */
const NEAR = 5 * SECOND
const FIRST_HOLD = SECOND

/** A chat that is linked and takes messages, or any other. */
export type Rank = 'known' | 'lesser'

export interface Budget {
  /** Takes a message's place. Returns 0, or the milliseconds until there is one. */
  take(rank: Rank): number
  /** Gives the newest place back, as nothing was to be sent after all. */
  giveBack(rank: Rank): void
  /** Notes that a message has arrived. */
  succeeded(): void
  /** Notes that a chat was to be sent to less often. */
  limited(chat: string, retryMs: number): void
}

/** @param now milliseconds of a clock that only goes on */
export function openBudget(now: () => number): Budget {
  const taken: Record<Rank | 'all', number[]> = { known: [], lesser: [], all: [] }
  let last: { chat: string; at: number; retryMs: number } | undefined
  let holds = 0
  let heldUntil = 0
  /** After a hold one message goes ahead; while it is under way, no other. */
  let probe: 'none' | 'due' | 'under way' = 'none'

  function waitOf(times: number[], most: number): number {
    while (times.length > 0 && (times[0] as number) <= now() - WITHIN) times.shift()
    return times.length < most ? 0 : (times[0] as number) + WITHIN - now()
  }

  return {
    take(rank) {
      const held = heldUntil - now()
      if (held > 0) return held
      if (probe === 'under way') return SECOND
      const wait = Math.max(
        waitOf(taken.all, MOST),
        rank === 'lesser' ? waitOf(taken.lesser, MOST_LESSER) : 0,
      )
      if (wait > 0) return wait
      if (probe === 'due') probe = 'under way'
      taken.all.push(now())
      taken[rank].push(now())
      return 0
    },
    giveBack(rank) {
      taken.all.pop()
      taken[rank].pop()
      if (probe === 'under way') probe = 'due'
    },
    succeeded() {
      last = undefined
      holds = 0
      probe = 'none'
    },
    limited(chat, retryMs) {
      const before = last
      last = { chat, at: now(), retryMs }
      const isProbe = probe === 'under way'
      const isNear = before && before.chat !== chat && last.at - before.at <= NEAR
      if (!isProbe && !isNear) return
      // Those that were under way together are one refusal.
      if (!isProbe && heldUntil > now()) return
      const shortest = Math.min(retryMs, before?.retryMs ?? retryMs)
      heldUntil = now() + Math.min(FIRST_HOLD * 2 ** holds, shortest)
      holds += 1
      probe = 'due'
    },
  }
}
