/** Sends what is due, as fast as the provider allows, many chats side by side and each in its order. */
import { poller } from '../../../lib/poller.ts'
import type { Time } from '../../../lib/time.ts'
import { within } from '../../../lib/within.ts'
import {
  type Changes,
  logFailures,
  type Scopes,
  type TenantTx,
} from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Bot } from '../bot/bot.ts'
import type { Tenure } from '../bot/lease.ts'
import { TOPIC_DUE } from '../topics.ts'
import { type Ending, openBudget, type Place, RANKS, type Rank } from './budget.ts'
import type { Outcome } from './outcome.ts'
import { type DueChat, findFirst } from './sending.store.ts'
import type { Turn } from './turn.ts'

/** Messages under way at once: what the rate comes to until those are given up that nobody answers. */
const MAX_UNDER_WAY = 400
const MAX_UNDER_WAY_OF: Record<Rank, number> = { known: MAX_UNDER_WAY, failing: 100, stranger: 100 }
/** Chats of a rank that are looked for at once: a second's worth. */
const LOOKED_FOR = 30
const POLL_MS = 1_000
/**
 * For messages that are under way at a stop, of which the last second is for those to be written down
 * that were broken off.
 */
const STOP_MS = 4_000
const BREAK_OFF_MS = 3_000
/** What is queued within this goes together. */
const GATHER_MS = 5

export interface SenderDeps {
  db: Scopes
  changes: Changes
  clock: Time
  log: Logger
  bot: Pick<Bot, 'isGood' | 'refused'>
  tenure: Tenure
  turn: Turn
  onSent?: (outcome: Outcome['kind']) => void
}

export interface Sender {
  /** Resolves when nothing that is due is left to send, and no message is under way. */
  idle(): Promise<void>
  stop(): Promise<void>
}

export function startSender(deps: SenderDeps): Sender {
  const { db, changes, clock, log, bot, tenure, turn, onSent } = deps
  const budget = openBudget(clock.monotonic)
  /** The chats that are being sent to, by hash. */
  const busy = new Map<string, DueChat>()
  const running = new Set<Promise<unknown>>()
  const breakOff = new AbortController()

  async function send(key: string, chat: DueChat, place: Place): Promise<void> {
    let ending: Ending = { kind: 'failed' }
    try {
      const outcome = await turn(chat, { sent: place.sent, stop: breakOff.signal })
      ending = endingOf(key, outcome)
      if (outcome) onSent?.(outcome.kind)
      if (outcome?.kind === 'token refused') bot.refused()
    } finally {
      place.end(ending)
    }
  }

  function begin(chat: DueChat, place: Place): void {
    const key = chat.hash.toString('hex')
    busy.set(key, chat)
    const ended = canFail(send(key, chat, place), 'sending to a chat', log).finally(() => {
      busy.delete(key)
      running.delete(ended)
      sender.wake()
    })
    running.add(ended)
  }

  function roomFor(rank: Rank): number {
    const same = [...busy.values()].filter((chat) => chat.rank === rank).length
    return Math.min(LOOKED_FOR, MAX_UNDER_WAY - busy.size, MAX_UNDER_WAY_OF[rank] - same)
  }

  /** The first chats of each rank for which there is room. */
  const findAll = (tx: TenantTx) => {
    const taken = [...busy.values()].map(({ hash }) => hash)
    const withRoom = RANKS.map((rank) => ({ rank, limit: roomFor(rank) }))
    return Promise.all(
      withRoom
        .filter(({ limit }) => limit > 0)
        .map(({ rank, limit }) => findFirst(tx, rank, { limit, busy: taken })),
    )
  }

  /** Begins what is due of these. Returns the milliseconds until more may begin, as far as is known. */
  function beginDue(chats: readonly DueChat[]): number {
    for (const chat of chats) {
      const early = Date.parse(chat.due_at) - clock.now()
      if (early > 0) return early
      // When a message ends, it looks again.
      if (roomFor(chat.rank) <= 0 || !tenure.isSure() || !bot.isGood()) return POLL_MS
      const place = budget.take(chat.rank)
      if (typeof place === 'number') return place
      begin(chat, place)
    }
    return chats.length === 0 ? POLL_MS : 0
  }

  async function look(): Promise<boolean | number> {
    if (!tenure.isSure() || !bot.isGood() || changes.isClosed(null)) return false
    const found = await db.acrossTenants(findAll, 'read')
    const shortest = Math.min(...found.map(beginDue), POLL_MS)
    return Math.max(Math.ceil(shortest), GATHER_MS)
  }

  const sender = poller(look, {
    clock,
    pollMs: POLL_MS,
    minGapMs: GATHER_MS,
    onError: logFailures('looking for what to send', log),
  })
  const unsubscribe = changes.subscribe((topic) => {
    if (topic === TOPIC_DUE || topic === null) sender.wake()
  })
  return {
    async idle() {
      do {
        await Promise.all(running)
        await sender.idle()
      } while (running.size > 0)
    },
    async stop() {
      unsubscribe()
      await sender.stop()
      if (await within(clock, BREAK_OFF_MS, Promise.all(running))) return
      breakOff.abort()
      await within(clock, STOP_MS - BREAK_OFF_MS, Promise.all(running))
    },
  }
}

/** What a message means for the rate of all. */
function endingOf(chat: string, outcome: Outcome | undefined): Ending {
  if (!outcome) return { kind: 'unsent' }
  if (outcome.kind === 'limited') return { kind: 'limited', chat, retryMs: outcome.retryMs }
  const isAnswered = outcome.kind !== 'failed' && outcome.kind !== 'token refused'
  return { kind: isAnswered ? 'arrived' : 'failed' }
}
