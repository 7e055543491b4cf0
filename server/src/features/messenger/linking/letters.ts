/** What the owner of an account is told by mail about its chat. */
import { type MailContent, renderMail } from '../../../platform/mail/index.ts'
import { timeOf } from '../text/format.ts'
import { shownName } from '../text/names.ts'
import type { Chat } from './chats.ts'

/** Why a chat is linked no more. */
export type UnlinkReason =
  | 'api'
  | 'chat'
  | 'replaced'
  | 'blocked'
  | 'deactivated'
  | 'unreachable'
  | 'deleted'
  | 'disowned'

/** Where the account is deleted, nobody is left to write to; who has not linked a chat need not hear of it. */
export type TellingReason = Exclude<UnlinkReason, 'deleted' | 'disowned'>

interface Letter {
  name: string
  clinic: string
  /** Null where it cannot be read any more. */
  chat: Chat | null
  /** ISO 8601. */
  at: string
}

const greetingOf = (name: string) => {
  const shown = shownName(name)
  return shown ? `Hello ${shown},` : 'Hello,'
}

/** Says what is known of the chat; its owner has chosen both names. */
function chatOf(chat: Chat | null): string {
  if (!chat) return 'a chat'
  const { username, name } = chat
  const shown = shownName(name)
  const handle = username ? ` (user name ${username})` : ''
  return shown ? `the chat of “${shown}”${handle}` : `a chat${handle}`
}

export function linkedLetter({ name, clinic, chat, at }: Letter): MailContent {
  return renderMail({
    subject: 'A chat was linked with your account',
    greeting: greetingOf(name),
    lines: [
      `${chatOf(chat)} was linked with your account at ${clinic} on ${timeOf(at)}. From now on it hears of your account.`,
      'Anybody can choose such names for themselves: they do not prove whose chat it is. If you have typed a code that somebody gave to you, the chat is theirs.',
    ],
    closing:
      'If this is not your own chat, unlink it at once in your account, choose a new password, and tell your administrator.',
  })
}

const WHY: Record<TellingReason, string> = {
  api: 'It was unlinked from the account.',
  chat: 'It was unlinked from within the chat.',
  replaced: 'Another chat was linked in its place.',
  blocked: 'The bot was blocked in the chat.',
  deactivated: 'The account of the chat was deactivated at the messenger.',
  unreachable: 'Nothing could be sent to it for more than a day.',
}

export function unlinkedLetter(letter: Letter & { reason: TellingReason }): MailContent {
  const { name, clinic, chat, at, reason } = letter
  return renderMail({
    subject: 'A chat is no longer linked with your account',
    greeting: greetingOf(name),
    lines: [
      `${chatOf(chat)} is no longer linked with your account at ${clinic} since ${timeOf(at)}. ${WHY[reason]}`,
      'You hear of your account by this messenger no more until you link a chat again.',
    ],
    closing:
      'If this was neither you nor to be expected, look at your account and tell your administrator.',
  })
}
