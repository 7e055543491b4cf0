/** Has something said to a chat, in the transaction of what it is about. */
import { type Clock, DAY, isoAt } from '../../../lib/clock.ts'
import type { RootSealed } from '../../../platform/crypto/index.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { TOPIC_DUE } from '../topics.ts'
import type { Chats } from './chats.ts'
import { CODE_LIFE } from './codes.ts'
import { hasManyReplies, insertReply } from './links.store.ts'

/** What is said is sealed with the root key while it waits: it may hold a code. */
export const SEALED_REPLIES: RootSealed = {
  table: 'messenger_replies',
  column: 'sealed_reply',
  id: { column: 'id', type: 'bigint' },
  row: 'chat_hash',
}
/** Answers that wait at once; commands beyond them are taken and not answered. */
const MAX_WAITING = 10_000

/** Whether another answer would wait to be sent, rather than be left out. */
export const hasRoomForAnswers = async (tx: TenantTx): Promise<boolean> =>
  !(await hasManyReplies(tx, MAX_WAITING))

export interface SealedReply {
  chatId: number
  text: string
}

/**
 * Queues a text for the chat.
 * @param kind an answer to a command takes the place of an earlier one, and is soon of no use
 */
export type Reply = (
  tx: TenantTx,
  chatId: number,
  text: string,
  kind?: 'answer' | 'news',
) => Promise<void>

export function replier({ chats, clock }: { chats: Chats; clock: Clock }): Reply {
  return async (tx, chatId, text, kind = 'news') => {
    const isAnswer = kind === 'answer'
    if (isAnswer && !(await hasRoomForAnswers(tx))) return
    const chat_hash = chats.hashOf(chatId)
    const content: SealedReply = { chatId, text }
    await insertReply(
      tx,
      {
        chat_hash,
        is_answer: isAnswer,
        sealed_reply: chats.seal(SEALED_REPLIES, chat_hash, content),
        expires_at: isoAt(clock, isAnswer ? CODE_LIFE : DAY),
      },
      isoAt(clock),
    )
    tx.notify(TOPIC_DUE)
  }
}
