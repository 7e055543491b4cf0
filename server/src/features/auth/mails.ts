/** What the mails about an account say. */
import { composeText, type MailText } from '../../platform/mail/index.ts'

export function verificationLetter(name: string, clinic: string, url: string): MailText {
  return composeText({
    subject: 'Confirm your e-mail address',
    greeting: greetingOf(name),
    lines: [`this address was given for an account at ${clinic}. Please confirm that it is yours.`],
    link: { label: 'Confirm the address', url },
    closing:
      'The link is valid for 24 hours. If you have not asked for an account, ignore this mail.',
  })
}

export function resetLetter(name: string, clinic: string, url: string): MailText {
  return composeText({
    subject: 'Choose a new password',
    greeting: greetingOf(name),
    lines: [`a new password was asked for your account at ${clinic}.`],
    link: { label: 'Choose a password', url },
    closing:
      'The link is valid for one hour and works once. If it was not you who asked, ignore this mail: your password stays as it is.',
  })
}

/**
 * Anybody may register under any name, for an address that is not theirs: what a mail program would
 * make a link of is not passed on.
 */
function greetingOf(name: string): string {
  return /[\p{L}\p{N}][./:@]+[\p{L}\p{N}]/u.test(name) ? 'Hello,' : `Hello ${name},`
}
