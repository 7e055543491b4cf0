/** What the mails about an account say. */
import { type MailContent, renderMail } from '../../platform/mail/index.ts'

/** What a mail with a link says; `name` is null where nobody knows yet whose words it is. */
interface LinkMail {
  name: string | null
  clinic: string
  url: string
}

/** Goes to an address that anybody may have typed, under any name: it has no word of theirs. */
export function verificationMail({ clinic, url }: LinkMail): MailContent {
  return renderMail({
    subject: 'Confirm your e-mail address',
    greeting: 'Hello,',
    lines: [
      `this address was given for an account at ${clinic}. Please confirm that it is yours; you are asked for the password of the account.`,
    ],
    link: { label: 'Confirm the address', url },
    closing:
      'The link is valid for 24 hours. If you have not asked for an account, ignore this mail.',
  })
}

/** Goes to an address that an administrator typed, which may be a stranger's: it names the clinic only. */
export function invitationMail({ clinic, url }: LinkMail): MailContent {
  return renderMail({
    subject: `Your account at ${clinic}`,
    greeting: 'Hello,',
    lines: [
      `An administrator of ${clinic} has created an account for this address. Choose a password to start using it.`,
    ],
    link: { label: 'Choose a password', url },
    closing:
      'The link is valid for 7 days and works once. If you do not know this clinic, ignore this mail.',
  })
}

export function resetMail({ name, clinic, url }: LinkMail): MailContent {
  return renderMail({
    subject: 'Choose a new password',
    greeting: greetingOf(name),
    lines: [`a new password was asked for your account at ${clinic}.`],
    link: { label: 'Choose a password', url },
    closing:
      'The link is valid for one hour and works once. If it was not you who asked, ignore this mail: your password stays as it is.',
  })
}

/** Tells an applicant that they can sign in. The name is left out, because a stranger may have entered it. */
export function approvalMail({ clinic, url }: { clinic: string; url: string }): MailContent {
  return renderMail({
    subject: 'Your registration was approved',
    greeting: 'Hello,',
    lines: [`an administrator of ${clinic} has approved your registration. You can sign in now.`],
    link: { label: 'Sign in', url },
    closing: 'If you have not registered there, please tell the clinic.',
  })
}

/** Notifies an applicant of the refusal. Leaves out the name, as the approval does. */
export function refusalMail({ clinic }: { clinic: string }): MailContent {
  return renderMail({
    subject: 'Your registration was not approved',
    greeting: 'Hello,',
    lines: [
      `an administrator of ${clinic} has not approved your registration. The account was deleted.`,
    ],
    closing: 'If you think that this is a mistake, please contact the clinic.',
  })
}

/** What an owner is told; `codesLeft` are the recovery codes that are not used yet. */
export type News =
  | { kind: 'password_changed' | 'factor_enabled' | 'factor_removed' | 'address_changed' }
  | { kind: 'recovery_code_used'; codesLeft: number }

interface Notice {
  news: News
  /** Null where it may be a stranger's words. */
  name: string | null
  clinic: string
  /** Milliseconds since the epoch. */
  at: number
}

/** Says what has happened and holds no link, so that nobody learns to follow one in such a mail. */
export function noticeMail({ news, name, clinic, at }: Notice): MailContent {
  const { subject, what, after } = wordsOf(news)
  const when = new Date(at).toISOString().slice(0, 16).replace('T', ' at ')
  return renderMail({
    subject,
    greeting: greetingOf(name),
    lines: [`${what} your account at ${clinic} on ${when} UTC.`, after],
    closing:
      'If this was neither you nor your administrator for you, tell your administrator at once, and choose a new password.',
  })
}

function wordsOf(news: News): { subject: string; what: string; after: string } {
  switch (news.kind) {
    case 'password_changed':
      return {
        subject: 'Your password was changed',
        what: 'a new password was set for',
        after: 'Every session was ended; sign in with the new password.',
      }
    case 'address_changed':
      return {
        subject: 'Your e-mail address was changed',
        what: 'an administrator changed the e-mail address of',
        after:
          'Every session was ended. Sign in with the new address; this one receives no more mails about the account.',
      }
    case 'factor_enabled':
      return {
        subject: 'A second factor was set up',
        what: 'a second factor was set up for',
        after: 'From now on signing in asks for its code. Other sessions were ended.',
      }
    case 'factor_removed':
      return {
        subject: 'Your second factor was taken away',
        what: 'the second factor was taken away from',
        after: 'Signing in asks for the password alone. Every session was ended.',
      }
    case 'recovery_code_used':
      return {
        subject: 'A recovery code was used',
        what: 'a recovery code was used to sign in to',
        after: `It is good no more; ${news.codesLeft} are left.`,
      }
  }
}

/** What a mail program would make a link of is not passed on. */
function greetingOf(name: string | null): string {
  return name === null || /[\p{L}\p{N}][./:@]+[\p{L}\p{N}]/u.test(name)
    ? 'Hello,'
    : `Hello ${name},`
}
