/** Sends what is due, as fast as the provider allows, many chats side by side and each in its order. */
import { performance } from 'node:perf_hooks'
import { type Clock, isoAt } from '../../../lib/clock.ts'
import { poller } from '../../../lib/poller.ts'
import { within } from '../../../lib/within.ts'
import { type Changes, logFailures, type Scopes } from '../../../platform/db/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Bot } from '../bot/bot.ts'
import type { Tenure } from '../bot/lease.ts'
import { TOPIC_DUE } from '../topics.ts'
import { type Ending, openBudget, type Place, type Rank } from './budget.ts'
import type { Outcome } from './outcome.ts'
import { type DueChat, findDue, findNextDue } from './sending.store.ts'
import type { Turn } from './turn.ts'

/** Messages under way at once: a few seconds of the rate, as some chats take long to answer. */
const MAX_UNDER_WAY = 300
/** Of these, what strangers and failing chats may take. */
const MAX_LESSER = 150
/** Chats of a rank that are looked for at once: a second's worth. */
const LOOKED_FOR = 30
const POLL_MS = 1_000
/** For messages that are under way at a stop; what is not written down by then goes out again. */
const STOP_MS = 4_000
/** What is queued within this goes together. */
const GATHER_MS = 5

export interface SenderDeps {
  db: Scopes
  changes: Changes
  clock: Clock
  log: Logger
  bot: Pick<Bot, 'isGood' | 'refused'>
  tenure: Tenure
  turn: Turn
  onSent?: (outcome: Outcome['kind']) => void
}

export function startSender(deps: SenderDeps): { stop(): Promise<void> } {
  const { db, changes, clock, log, bot, tenure, turn, onSent } = deps
  const budget = openBudget(performance.now.bind(performance))
  /** The chats that are being sent to, by hash. */
  const busy = new Map<string, DueChat>()
  const running = new Set<Promise<unknown>>()

  async function send(key: string, chat: DueChat, place: Place): Promise<void> {
    let ending: Ending = { kind: 'failed' }
    try {
      const outcome = await turn(chat)
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
    const lesser = [...busy.values()].filter((chat) => chat.rank === 'lesser').length
    const room = MAX_UNDER_WAY - busy.size
    return Math.max(0, Math.min(LOOKED_FOR, room, rank === 'lesser' ? MAX_LESSER - lesser : room))
  }

  /** Begins what is due of a rank. Returns the milliseconds until more may begin, or undefined. */
  async function beginDue(rank: Rank): Promise<number | undefined> {
    const limit = roomFor(rank)
    if (limit === 0) return undefined
    const now = isoAt(clock)
    const taken = [...busy.values()].map(({ hash }) => hash)
    const due = await db.acrossTenants(
      (tx) => findDue(tx, rank, { now, limit, busy: taken }),
      'read',
    )
    for (const chat of due) {
      if (!tenure.isSure() || !bot.isGood()) return undefined
      const place = budget.take(rank)
      if (typeof place === 'number') return place
      begin(chat, place)
    }
    return due.length === limit ? 0 : undefined
  }

  async function look(): Promise<boolean | number> {
    if (!tenure.isSure() || !bot.isGood()) return false
    const waits = [await beginDue('known'), await beginDue('lesser')]
    const next = await db.acrossTenants(findNextDue, 'read')
    const untilDue = next === null ? POLL_MS : Math.max(Date.parse(next) - clock.now(), GATHER_MS)
    const shortest = Math.min(...waits.map((wait) => wait ?? untilDue), POLL_MS)
    return Math.max(Math.ceil(shortest), GATHER_MS)
  }

  const sender = poller(look, {
    pollMs: POLL_MS,
    minGapMs: GATHER_MS,
    onError: logFailures('looking for what to send', log),
  })
  const unsubscribe = changes.subscribe((topic) => {
    if (topic === TOPIC_DUE || topic === null) sender.wake()
  })
  return {
    async stop() {
      unsubscribe()
      await sender.stop()
      await within(STOP_MS, Promise.all(running))
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
