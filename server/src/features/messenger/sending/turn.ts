/** Handles one chat: sends its next waiting message, and records the result. */
import { isoAt } from '../../../lib/clock.ts'
import type { Time } from '../../../lib/time.ts'
import { isPassing, type Scopes, type TenantTx } from '../../../platform/db/index.ts'
import { SYSTEM } from '../../../platform/journal/index.ts'
import { type Tenure, TenureOver } from '../../../platform/lease/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { type BotApi, BotFault } from '../bot/api.ts'
import type { UnlinkReason } from '../linking/mails.ts'
import type { Unlink } from '../linking/unlink.ts'
import { deleteWaiting } from '../notices/notices.store.ts'
import type { Compose, Composed } from './compose.ts'
import { judge, type SendOutcome } from './outcome.ts'
import {
  CHAT_GAP,
  gapOf,
  MAX_REFUSALS,
  nextGap,
  REFUSED_FOR,
  REFUSED_PAUSE,
  retryAfter,
} from './pace.ts'
import * as store from './sending.store.ts'

const RECORD_AGAIN_MS = 500

export interface TurnDeps {
  db: Scopes
  clock: Time
  log: Logger
  api: BotApi
  tenure: Tenure
  compose: Compose
  unlink: Unlink
}

export interface Way {
  /** Called just before the message is sent. */
  sent(): void
  /** Aborts a message in flight. The message may have arrived nevertheless. */
  stop: AbortSignal
}

/** Sends the next message to the chat. Returns its outcome, or undefined if there was nothing to send. */
export type Turn = (chat: store.DueChat, way: Way) => Promise<SendOutcome | undefined>

type Message = Exclude<Composed, { kind: 'nothing' }>

export function turnTaker(deps: TurnDeps): Turn {
  const { db, clock, log, api, tenure, compose, unlink } = deps

  /** Records the result of a message. @throws TenureOver if another process has taken over the bot */
  const record = (hash: Buffer, work: (tx: TenantTx) => Promise<store.ChatState>) =>
    db.acrossTenants(async (tx) => {
      await tenure.fence(tx)
      await store.lockChat(tx, hash)
      await store.settleChat(tx, hash, await work(tx), isoAt(clock))
    })

  /** Retries `record` until success or loss of the lease. Otherwise a short outage could send a message twice. */
  async function recordSurely(hash: Buffer, work: Parameters<typeof record>[1]): Promise<void> {
    for (;;) {
      try {
        return await record(hash, work)
      } catch (error) {
        if (!isPassing(error) || tenure.over.aborted) throw error
        log.warn({ err: error }, 'recording of a message result failed')
        await clock.delay(RECORD_AGAIN_MS, { signal: tenure.over })
      }
    }
  }

  async function send({ chatId, text }: Message, way: Way): Promise<SendOutcome> {
    way.sent()
    try {
      await api.sendMessage(chatId, text, way.stop)
      return { kind: 'sent' }
    } catch (error) {
      if (!(error instanceof BotFault)) throw error
      return judge(error.refusal)
    }
  }

  /** Deletes a message that was sent or can never be sent. */
  const drop = (tx: TenantTx, message: Message) =>
    message.kind === 'reply'
      ? store.deleteReply(tx, message.id)
      : deleteWaiting(tx, message.link, message.lastId)

  async function sent(tx: TenantTx, chat: store.DueChat, message: Message) {
    await drop(tx, message)
    const { link } = message
    if (link && link.refusals > 0) await store.saveRefusals(tx, link, 0, null)
    const state = { free_at: isoAt(clock, CHAT_GAP), failures: 0 }
    if (message.kind === 'reply') return state
    const digestAt = chat.digest_at === null ? null : Date.parse(chat.digest_at)
    const gap = nextGap({ gap: chat.gap, digestAt }, Date.parse(message.queuedAt))
    return { ...state, gap, digest_at: isoAt(clock, gapOf(gap)) }
  }

  /** Returns the state of a chat after another failure, with a pause of at least `leastMs` milliseconds. */
  const failedOnceMore = ({ failures }: store.DueChat, leastMs = 0): store.ChatState => ({
    failures: failures + 1,
    free_at: isoAt(clock, Math.max(leastMs, retryAfter(failures + 1))),
  })

  /** Pauses a chat that has refused a message. Unlinks the chat after three refusals that span a day. */
  async function refused(tx: TenantTx, message: Message): Promise<store.ChatState> {
    const { link } = message
    if (!link) {
      await drop(tx, message)
      return {}
    }
    const refusals = link.refusals + 1
    const since = link.refused_since ?? isoAt(clock)
    if (refusals >= MAX_REFUSALS && clock.now() - Date.parse(since) >= REFUSED_FOR) {
      await unlink(tx, link, SYSTEM, 'unreachable')
      return { free_at: isoAt(clock, CHAT_GAP), failures: 0 }
    }
    await store.saveRefusals(tx, link, refusals, since)
    // Counts no failure, so that a message from the chat can end this pause (`endRefusal`). A pause after failures does
    // not end that way, because the provider may have requested it.
    return { free_at: isoAt(clock, REFUSED_PAUSE), failures: 0 }
  }

  async function gone(
    tx: TenantTx,
    hash: Buffer,
    message: Message,
    reason: UnlinkReason,
  ): Promise<store.ChatState> {
    await store.deleteReplies(tx, hash)
    if (message.link) await unlink(tx, message.link, SYSTEM, reason)
    return {}
  }

  async function settle(
    tx: TenantTx,
    chat: store.DueChat,
    message: Message,
    outcome: SendOutcome,
  ): Promise<store.ChatState> {
    switch (outcome.kind) {
      case 'sent':
        return sent(tx, chat, message)
      case 'limited':
        // Counts as a failure, so that a chat with repeated 429 responses gets the rank of failing chats.
        return failedOnceMore(chat, outcome.retryMs)
      case 'failed':
      case 'token refused':
        return failedOnceMore(chat)
      case 'gone':
        return gone(tx, chat.hash, message, outcome.reason)
      case 'refused':
        return refused(tx, message)
      case 'unsendable':
        await drop(tx, message)
        return { free_at: isoAt(clock, CHAT_GAP) }
    }
  }

  async function take(chat: store.DueChat, way: Way): Promise<SendOutcome | undefined> {
    const message = await db.acrossTenants((tx) => compose(tx, chat.hash), 'read')
    if (message.kind === 'nothing') {
      const { link, lastId } = message
      await record(chat.hash, async (tx) => {
        if (link) await deleteWaiting(tx, link, lastId)
        return {}
      })
      return undefined
    }
    // Another process may have taken over the bot while the message was composed.
    if (!tenure.isSure()) return undefined
    const outcome = await send(message, way)
    if (outcome.kind !== 'sent')
      log.warn({ outcome, link: message.link?.id }, 'message rejected by the messenger')
    await recordSurely(chat.hash, (tx) => settle(tx, chat, message, outcome))
    return outcome
  }

  return async (chat, way) => {
    try {
      return await take(chat, way)
    } catch (error) {
      if (error instanceof TenureOver || tenure.over.aborted || isPassing(error)) throw error
      // Delays the chat after an internal error, so that it does not stay first in the queue.
      log.error({ err: error }, 'creation or recording of a message failed')
      await record(chat.hash, async () => failedOnceMore(chat))
      return { kind: 'failed' }
    }
  }
}
