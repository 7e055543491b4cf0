/** What the bot says of itself: answers to commands, and what becomes of the chat. */

import { MINUTE } from '../../../lib/clock.ts'
import { CODE_LIFE, showCode } from '../linking/codes.ts'
import { shownName } from './names.ts'

const COMMANDS = [
  '/start: a code that links this chat with an account',
  '/stop: unlink this chat',
].join('\n')

export const HELP = `This bot tells of events of an account at a clinic, once the chat is linked.\n${COMMANDS}`

export function codeText(code: string): string {
  return [
    `Your code: ${showCode(code)}`,
    `Enter it in your own account within ${CODE_LIFE / MINUTE} minutes. It works once, and links this chat with the account that it is entered in.`,
    'Never pass it on: whoever is asked to enter the code of somebody else would let them hear of their account.',
  ].join('\n')
}

export function linkedText({ name, clinic }: { name: string; clinic: string }): string {
  const of = shownName(name) ?? 'somebody'
  return [
    `This chat is now linked with the account of ${of} at ${shownName(clinic) ?? 'a clinic'}.`,
    'It will hear of events of that account. If it is not yours, type /stop.',
  ].join('\n')
}

export const UNLINKED =
  'This chat is no longer linked with an account. Type /start to link it again.'
export const DELETED =
  'The account that this chat was linked with was deleted: nothing is told here any more.'
export const REPLACED =
  'Another chat was linked with the account in place of this one, which hears of it no more.'
export const NOT_LINKED = 'This chat is linked with no account. Type /start for a code.'
