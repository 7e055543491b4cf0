/** Queues replies to a chat, in the same transaction as the change that causes them. */
import { type Clock, DAY, isoAt } from '../../../lib/clock.ts'
import type { RootSealed } from '../../../platform/crypto/index.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { TOPIC_DUE } from '../messenger.table.ts'
import type { Chats } from './chats.ts'
import { CODE_LIFE } from './codes.ts'
import { hasManyReplies, insertReply } from './links.store.ts'

/** The database column of queued replies. They are encrypted with the root key, because a reply may contain a code. */
export const SEALED_REPLIES: RootSealed = {
  table: 'messenger_replies',
  column: 'sealed_reply',
  id: { column: 'id', type: 'bigint' },
  row: 'chat_hash',
}
/** The maximum number of queued answers. The bot handles further commands but does not answer them. */
const MAX_WAITING = 10_000

/** Returns whether another answer to a command would be queued. Otherwise it would be dropped. */
export const hasRoomForAnswers = async (tx: TenantTx): Promise<boolean> =>
  !(await hasManyReplies(tx, MAX_WAITING))

export interface SealedReply {
  chatId: number
  text: string
}

/** Queues a text for the chat. Kind `answer` answers a command, replaces an earlier answer and expires soon. */
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
