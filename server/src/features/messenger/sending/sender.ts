/** Sends due messages as fast as the provider allows: to many chats in parallel, in order within each chat. */
import { poller } from '../../../lib/poller.ts'
import type { Time } from '../../../lib/time.ts'
import { within } from '../../../lib/within.ts'
import {
  type Changes,
  logFailures,
  type Scopes,
  type TenantTx,
} from '../../../platform/db/index.ts'
import type { Tenure } from '../../../platform/lease/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Bot } from '../bot/bot.ts'
import { TOPIC_DUE } from '../messenger.table.ts'
import { openChatBudget, RANKS, type Rank, type SendEnding, type SendSlot } from './budget.ts'
import type { SendOutcome } from './outcome.ts'
import { type DueChat, findFirst } from './sending.store.ts'
import type { Turn } from './turn.ts'

/** The maximum number of messages in flight: as many as the rate allows before unanswered messages time out. */
const MAX_UNDER_WAY = 400
const MAX_UNDER_WAY_OF: Record<Rank, number> = { known: MAX_UNDER_WAY, failing: 100, stranger: 100 }
/** The maximum number of chats of a rank that one query finds. This is enough for a second of sending. */
const MAX_DUE_CHATS = 30
const POLL_MS = 1_000
/** The time limit of a shutdown. Messages are aborted after `BREAK_OFF_MS`, which leaves a second to record them. */
const STOP_MS = 4_000
const BREAK_OFF_MS = 3_000
/** The minimum time between polls. Events that are queued within this time share a digest. */
const GATHER_MS = 5

export interface SenderDeps {
  db: Scopes
  changes: Changes
  clock: Time
  log: Logger
  bot: Pick<Bot, 'isGood' | 'refused'>
  tenure: Tenure
  turn: Turn
  onSent?: (outcome: SendOutcome['kind']) => void
}

export interface ChatSender {
  /** Resolves when no message is due or in flight. */
  idle(): Promise<void>
  stop(): Promise<void>
}

export function startSender(deps: SenderDeps): ChatSender {
  const { db, changes, clock, log, bot, tenure, turn, onSent } = deps
  const budget = openChatBudget(clock.monotonic)
  const busy = new Map<string, DueChat>()
  const running = new Set<Promise<unknown>>()
  const breakOff = new AbortController()

  async function send(key: string, chat: DueChat, place: SendSlot): Promise<void> {
    let ending: SendEnding = { kind: 'failed' }
    try {
      const outcome = await turn(chat, { sent: place.sent, stop: breakOff.signal })
      ending = endingOf(key, outcome)
      if (outcome) onSent?.(outcome.kind)
      if (outcome?.kind === 'token refused') bot.refused()
    } finally {
      place.end(ending)
    }
  }

  function begin(chat: DueChat, place: SendSlot): void {
    const key = chat.hash.toString('hex')
    busy.set(key, chat)
    const ended = canFail(send(key, chat, place), 'sending of messages to a chat', log).finally(
      () => {
        busy.delete(key)
        running.delete(ended)
        sender.wake()
      },
    )
    running.add(ended)
  }

  function roomFor(rank: Rank): number {
    const same = [...busy.values()].filter((chat) => chat.rank === rank).length
    return Math.min(MAX_DUE_CHATS, MAX_UNDER_WAY - busy.size, MAX_UNDER_WAY_OF[rank] - same)
  }

  /** Returns the first due chats of each rank for which more messages may begin. */
  const findAll = (tx: TenantTx) => {
    const taken = [...busy.values()].map(({ hash }) => hash)
    const withRoom = RANKS.map((rank) => ({ rank, limit: roomFor(rank) }))
    return Promise.all(
      withRoom
        .filter(({ limit }) => limit > 0)
        .map(({ rank, limit }) => findFirst(tx, rank, { limit, busy: taken })),
    )
  }

  /** Begins messages to the chats that are due. Returns the milliseconds until the next poll. */
  function beginDue(chats: readonly DueChat[]): number {
    for (const chat of chats) {
      const early = Date.parse(chat.due_at) - clock.now()
      if (early > 0) return early
      // Waits, because no message can begin now. The end of any message wakes the poller.
      if (roomFor(chat.rank) <= 0 || !tenure.isSure() || !bot.isGood()) return POLL_MS
      const place = budget.take(chat.rank)
      if (typeof place === 'number') return place
      begin(chat, place)
    }
    return chats.length === 0 ? POLL_MS : 0
  }

  async function poll(): Promise<boolean | number> {
    if (!tenure.isSure() || !bot.isGood() || changes.isInMaintenance(null)) return false
    const found = await db.acrossTenants(findAll, 'read')
    const shortest = Math.min(...found.map(beginDue), POLL_MS)
    return Math.max(Math.ceil(shortest), GATHER_MS)
  }

  const sender = poller(poll, {
    clock,
    pollMs: POLL_MS,
    minGapMs: GATHER_MS,
    onError: logFailures('polling of waiting messages', log),
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

/** Converts the outcome of a message into a result for the rate limit. */
function endingOf(chat: string, outcome: SendOutcome | undefined): SendEnding {
  if (!outcome) return { kind: 'unsent' }
  if (outcome.kind === 'limited') return { kind: 'limited', chat, retryMs: outcome.retryMs }
  const isAnswered = outcome.kind !== 'failed' && outcome.kind !== 'token refused'
  return { kind: isAnswered ? 'arrived' : 'failed' }
}
