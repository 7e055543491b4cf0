/** The mails to the owner of an account about the account's linked chat. */
import { type MailContent, renderMail } from '../../../platform/mail/index.ts'
import { timeOf } from '../text/format.ts'
import { shownName } from '../text/names.ts'
import type { Chat } from './chats.ts'

export type UnlinkReason =
  | 'api'
  | 'chat'
  | 'replaced'
  | 'blocked'
  | 'deactivated'
  | 'unreachable'
  | 'deleted'
  | 'disowned'

/**
 * The reasons that cause a mail. A deleted account has no owner to notify. An owner whose account a stranger linked to
 * a chat needs no mail.
 */
export type MailedReason = Exclude<UnlinkReason, 'deleted' | 'disowned'>

interface Letter {
  name: string
  clinic: string
  /** The linked or unlinked chat. Null if it can no longer be decrypted. */
  chat: Chat | null
  /** The time of linking or unlinking, ISO 8601. */
  at: string
}

const greetingOf = (name: string) => {
  const shown = shownName(name)
  return shown ? `Hello ${shown},` : 'Hello,'
}

/** Describes the chat with the names that its owner has chosen. */
function chatOf(chat: Chat | null): string {
  if (!chat) return 'a chat'
  const { username, name } = chat
  const shown = shownName(name)
  const handle = username ? ` (user name ${username})` : ''
  return shown ? `the chat of “${shown}”${handle}` : `a chat${handle}`
}

export function linkedLetter({ name, clinic, chat, at }: Letter): MailContent {
  return renderMail({
    subject: 'A chat was linked to your account',
    greeting: greetingOf(name),
    lines: [
      `${chatOf(chat)} was linked to your account at ${clinic} on ${timeOf(at)}. From now on it receives notifications about your account.`,
      'Anyone can choose any chat name, so the name does not prove who owns the chat. If you entered a code that someone else gave you, the chat belongs to that person.',
    ],
    closing:
      'If this is not your own chat, unlink it in your account immediately, choose a new password, and contact your administrator.',
  })
}

const WHY: Record<MailedReason, string> = {
  api: 'It was unlinked in your account.',
  chat: 'It was unlinked in the chat.',
  replaced: 'Another chat was linked instead.',
  blocked: 'The bot was blocked in the chat.',
  deactivated: 'The messenger account of the chat was deactivated.',
  unreachable: 'No message could be delivered to it for more than a day.',
}

export function unlinkedLetter(letter: Letter & { reason: MailedReason }): MailContent {
  const { name, clinic, chat, at, reason } = letter
  return renderMail({
    subject: 'A chat is no longer linked to your account',
    greeting: greetingOf(name),
    lines: [
      `${chatOf(chat)} was unlinked from your account at ${clinic} on ${timeOf(at)}. ${WHY[reason]}`,
      'You will not receive any messages in this messenger until you link a chat again.',
    ],
    closing: 'If you did not expect this, check your account and contact your administrator.',
  })
}
