/** Handles updates from the provider: commands in private chats, and users who block the bot. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { SYSTEM } from '../../../platform/journal/index.ts'
import type { Chat, Chats } from '../linking/chats.ts'
import { CODE_LIFE, newCode } from '../linking/codes.ts'
import { SEALED_CODES } from '../linking/linking.service.ts'
import {
  deleteCode,
  endRefusal,
  lockChats,
  lockLinkOfChat,
  saveCode,
} from '../linking/links.store.ts'
import { hasRoomForAnswers, type Reply } from '../linking/replies.ts'
import type { Unlink } from '../linking/unlink.ts'
import { CHAT_GAP } from '../sending/pace.ts'
import { codeText, HELP, NOT_LINKED, UNLINKED } from '../text/bot-replies.ts'

/** The fields that the bot reads. Each may be missing or malformed, because strangers can cause updates too. */
export interface Update {
  update_id: number
  message?: {
    text?: unknown
    chat?: { id?: unknown; type?: unknown }
    from?: Sender
  }
  my_chat_member?: {
    chat?: { id?: unknown; type?: unknown }
    new_chat_member?: { status?: unknown }
  }
}

interface Sender {
  is_bot?: unknown
  username?: unknown
  first_name?: unknown
  last_name?: unknown
}

export interface UpdatesDeps {
  clock: Clock
  chats: Chats
  reply: Reply
  unlink: Unlink
}

/** Handles an update in the transaction that also records it as handled. */
export type Handle = (tx: TenantTx, update: Update) => Promise<void>

export function updateHandler({ clock, chats, reply, unlink }: UpdatesDeps): Handle {
  /** Replies to a command. Ends a pause after a refusal, because a chat that writes can receive messages again. */
  async function answer(tx: TenantTx, chatId: number, text: string): Promise<void> {
    await endRefusal(tx, chats.hashOf(chatId), isoAt(clock, CHAT_GAP))
    await reply(tx, chatId, text, 'answer')
  }

  async function offerCode(tx: TenantTx, chat: Chat): Promise<void> {
    // Creates no code if it cannot be sent, because a new code would invalidate the current code of the chat.
    if (!(await hasRoomForAnswers(tx))) return
    const code = newCode()
    const chat_hash = chats.hashOf(chat.id)
    await saveCode(tx, {
      chat_hash,
      code_hash: chats.hashOfCode(code),
      sealed_chat: chats.seal(SEALED_CODES, chat_hash, chat),
      expires_at: isoAt(clock, CODE_LIFE),
    })
    await answer(tx, chat.id, codeText(code))
  }

  /** Unlinks the chat and invalidates its code. Returns whether the chat was linked. */
  async function leave(tx: TenantTx, chatId: number, reason: 'chat' | 'blocked'): Promise<boolean> {
    const chat_hash = chats.hashOf(chatId)
    await deleteCode(tx, chat_hash)
    await lockChats(tx, [chat_hash])
    const link = await lockLinkOfChat(tx, chat_hash)
    if (link) await unlink(tx, link, SYSTEM, reason)
    return link !== undefined
  }

  return async (tx, { message, my_chat_member: change }) => {
    const said = message && spokenIn(message)
    if (said) {
      const { chat, command } = said
      if (command === '/start') return offerCode(tx, chat)
      if (command !== '/stop') return answer(tx, chat.id, HELP)
      const wasLinked = await leave(tx, chat.id, 'chat')
      return answer(tx, chat.id, wasLinked ? UNLINKED : NOT_LINKED)
    }
    const id = privateChat(change?.chat)
    if (id !== undefined && change?.new_chat_member?.status === 'kicked')
      await leave(tx, id, 'blocked')
  }
}

/** Returns the id of a private chat, which is also the id of the person, or undefined for any other chat. */
function privateChat(chat: { id?: unknown; type?: unknown } | undefined): number | undefined {
  const { id, type } = chat ?? {}
  return type === 'private' && Number.isSafeInteger(id) ? (id as number) : undefined
}

/** Returns the chat and the command of a private message from a person, and undefined for any other message. */
function spokenIn(
  message: NonNullable<Update['message']>,
): { chat: Chat; command: string } | undefined {
  const id = privateChat(message.chat)
  const { text, from } = message
  if (id === undefined || typeof text !== 'string' || !from || from.is_bot !== false)
    return undefined
  const name = [from.first_name, from.last_name]
    .filter((part) => typeof part === 'string')
    .join(' ')
  const username = typeof from.username === 'string' && /^\w{1,64}$/.test(from.username)
  return {
    chat: { id, username: username ? (from.username as string) : null, name: name.slice(0, 200) },
    command: /^\/[a-z]+/i.exec(text)?.[0].toLowerCase() ?? '',
  }
}
