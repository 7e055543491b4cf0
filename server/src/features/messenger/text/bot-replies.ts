/** The bot's fixed texts: answers to commands, and notices about linking and unlinking a chat. */

import { MINUTE } from '../../../lib/clock.ts'
import { CODE_LIFE, showCode } from '../linking/codes.ts'
import { shownName } from './names.ts'

const COMMANDS = [
  '/start: get a code to link this chat to your account',
  '/stop: unlink this chat',
].join('\n')

export const HELP = `This bot sends notifications about your account at a clinic. First link this chat to the account.\n${COMMANDS}`

export function codeText(code: string): string {
  return [
    `Your code: ${showCode(code)}`,
    `Sign in to your account and enter the code there within ${CODE_LIFE / MINUTE} minutes. The code works once and links this chat to the account.`,
    'Never give this code to anyone, and never enter a code that someone else gave you. That person would receive notifications about your account.',
  ].join('\n')
}

export function linkedText({ name, clinic }: { name: string; clinic: string }): string {
  const of = shownName(name) ?? 'an unnamed user'
  return [
    `This chat is now linked to the account of ${of} at ${shownName(clinic) ?? 'a clinic'}.`,
    'You will receive notifications about that account here. If it is not your account, send /stop.',
  ].join('\n')
}

export const UNLINKED = 'This chat is no longer linked to an account. Send /start to link it again.'
export const CHAT_UNLINKED =
  'The account linked to this chat was deleted. You will not receive any more notifications here.'
export const REPLACED =
  'Another chat was linked to your account and replaces this one. You will not receive any more notifications here.'
export const NOT_LINKED = 'This chat is not linked to an account. Send /start to get a code.'
