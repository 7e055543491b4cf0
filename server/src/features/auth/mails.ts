/** What the mails about an account say. */
import { composeText, type MailText } from '../../platform/mail/index.ts'

export function verificationLetter(name: string, clinic: string, url: string): MailText {
  return composeText({
    subject: 'Confirm your e-mail address',
    greeting: `Hello ${name},`,
    lines: [`this address was given for an account at ${clinic}. Please confirm that it is yours.`],
    link: { label: 'Confirm the address', url },
    closing:
      'The link is valid for 24 hours. If you have not asked for an account, ignore this mail.',
  })
}

export function resetLetter(name: string, clinic: string, url: string): MailText {
  return composeText({
    subject: 'Choose a new password',
    greeting: `Hello ${name},`,
    lines: [`a new password was asked for your account at ${clinic}.`],
    link: { label: 'Choose a password', url },
    closing:
      'The link is valid for one hour and works once. If it was not you who asked, ignore this mail: your password stays as it is.',
  })
}
