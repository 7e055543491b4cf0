import { type MailContent, renderMail } from '../../platform/mail/index.ts'

/** The content of a mail with a link. The name is null if someone other than the owner may have entered it. */
interface LinkMail {
  name: string | null
  clinic: string
  url: string
}

/** Asks the owner to confirm an address. Omits the name, because anyone can register any address and name. */
export function verificationMail({ clinic, url }: LinkMail): MailContent {
  return renderMail({
    subject: 'Confirm your e-mail address',
    greeting: 'Hello,',
    lines: [
      `an account at ${clinic} was created with this e-mail address. Please confirm that the address is yours. You will need the password of the account.`,
    ],
    link: { label: 'Confirm your address', url },
    closing: 'The link is valid for 24 hours. If you did not register, you can ignore this e-mail.',
  })
}

/** Invites a user. Names only the clinic, because the administrator may have mistyped the address. */
export function invitationMail({ clinic, url }: LinkMail): MailContent {
  return renderMail({
    subject: `Your account at ${clinic}`,
    greeting: 'Hello,',
    lines: [
      `An administrator of ${clinic} created an account for you. Choose a password to start using it.`,
    ],
    link: { label: 'Choose a password', url },
    closing:
      'The link is valid for 7 days and works once. If you do not know this clinic, you can ignore this e-mail.',
  })
}

export function resetMail({ name, clinic, url }: LinkMail): MailContent {
  return renderMail({
    subject: 'Choose a new password',
    greeting: greetingOf(name),
    lines: [`we received a request to reset the password of your account at ${clinic}.`],
    link: { label: 'Choose a password', url },
    closing:
      'The link is valid for one hour and works once. If you did not request this, you can ignore this e-mail. Your password stays the same.',
  })
}

/** Informs applicants that their registration was approved. Omits the name, because a stranger may have entered it. */
export function approvalMail({ clinic, url }: { clinic: string; url: string }): MailContent {
  return renderMail({
    subject: 'Your registration was approved',
    greeting: 'Hello,',
    lines: [`an administrator of ${clinic} approved your registration. You can sign in now.`],
    link: { label: 'Sign in', url },
    closing: 'If you did not register, please contact the clinic.',
  })
}

/** Informs applicants that their registration was refused. Omits the name, because a stranger may have entered it. */
export function refusalMail({ clinic }: { clinic: string }): MailContent {
  return renderMail({
    subject: 'Your registration was not approved',
    greeting: 'Hello,',
    lines: [
      `an administrator of ${clinic} did not approve your registration. Your account was deleted.`,
    ],
    closing: 'If you think this is a mistake, please contact the clinic.',
  })
}

/** The change that the notice reports. `codesLeft` is the number of unused recovery codes. */
export type News =
  | { kind: 'password_changed' | 'factor_enabled' | 'factor_removed' | 'address_changed' }
  | { kind: 'recovery_code_used'; codesLeft: number }

interface Notice {
  news: News
  /** The owner's name; null if a stranger may have entered it. */
  name: string | null
  clinic: string
  /** When the change happened, in milliseconds since the epoch. */
  at: number
}

/** Returns a notice about a change of the account. Omits links, so that users do not get used to following them. */
export function noticeMail({ news, name, clinic, at }: Notice): MailContent {
  const { subject, what, after } = wordsOf(news)
  const when = new Date(at).toISOString().slice(0, 16).replace('T', ' at ')
  return renderMail({
    subject,
    greeting: greetingOf(name),
    lines: [`${what} your account at ${clinic} on ${when} UTC.`, after],
    closing:
      'If neither you nor your administrator did this, contact your administrator immediately and choose a new password.',
  })
}

function wordsOf(news: News): { subject: string; what: string; after: string } {
  switch (news.kind) {
    case 'password_changed':
      return {
        subject: 'Your password was changed',
        what: 'a new password was set for',
        after: 'All your sessions were ended. Sign in with the new password.',
      }
    case 'address_changed':
      return {
        subject: 'Your e-mail address was changed',
        what: 'an administrator changed the e-mail address of',
        after:
          'All your sessions were ended. Sign in with the new address. This address will not receive any more e-mails about the account.',
      }
    case 'factor_enabled':
      return {
        subject: 'A second factor was set up',
        what: 'a second factor was set up for',
        after: 'From now on you need a code from it to sign in. Your other sessions were ended.',
      }
    case 'factor_removed':
      return {
        subject: 'Your second factor was removed',
        what: 'the second factor was removed from',
        after: 'You now sign in with your password only. All your sessions were ended.',
      }
    case 'recovery_code_used':
      return {
        subject: 'A recovery code was used',
        what: 'a recovery code was used to sign in to',
        after: `It cannot be used again. You have ${news.codesLeft} recovery codes left.`,
      }
  }
}

/** Returns the greeting. Leaves out a name that a mail program would turn into a link. */
function greetingOf(name: string | null): string {
  return name === null || /[\p{L}\p{N}][./:@]+[\p{L}\p{N}]/u.test(name)
    ? 'Hello,'
    : `Hello ${name},`
}
