import type { SignedOutReason } from '../../session/index.ts'

export const signInTexts = {
  title: (clinic: string | undefined) => `Sign in to ${clinic ?? 'Wardkeep'}`,
  email: 'E-mail',
  emailMissing: 'Enter your e-mail address.',
  password: 'Password',
  passwordMissing: 'Enter your password.',
  submit: 'Sign in',
  busy: 'Signing in…',
  forgotten: 'Forgot your password?',
  register: 'Request an account',
  insecure:
    'This page was opened over plain HTTP, so signing in will not last. Use HTTPS, or the machine that Wardkeep runs on.',
  codeTitle: 'Enter your code',
  codeLead: 'Your account has a second factor.',
  code: 'Code from your authenticator app',
  codeHint: 'Six digits. A new code appears every 30 seconds.',
  codeMissing: 'Enter the code.',
  codeWrong: 'This code is not valid. Enter the newest one; each code works once.',
  recoveryCode: 'Recovery code',
  recoveryHint: 'One of the codes that you kept. Each works once.',
  useRecoveryCode: 'Use a recovery code',
  useAppCode: 'Use the app instead',
  back: 'Back',
  demoTitle: 'Try the demo clinic',
  demoLead: 'This service runs with demo data. Sign in as:',
  resend: 'Send the link again',
  resent: 'If this account is waiting for confirmation, a new link is on its way.',
}

/** The messages for refused sign-ins, by error code. */
export const signInRefusals: Readonly<Record<string, string>> = {
  invalid_credentials: 'The clinic, e-mail address or password is wrong.',
  tenant_inactive: 'This clinic is deactivated. Ask the people who run Wardkeep.',
  email_unverified:
    'Confirm your e-mail address first. Open the link in the mail that was sent to you.',
  account_blocked:
    'Your account is blocked or not approved yet. Ask an administrator of your clinic.',
}

/**
 * Returns the message that explains why the user is signed out.
 * @param isAfterRestore whether this tab saw a restore a moment ago, which ends sessions
 */
export function signedOutNotice(
  reason: SignedOutReason,
  idleMinutes: number,
  isAfterRestore = false,
): string | undefined {
  if (isAfterRestore && (reason === 'ended' || reason === 'none'))
    return 'A backup was being restored a moment ago, which may have ended your session. Sign in again.'
  switch (reason) {
    case 'idle':
      return `You were signed out after ${idleMinutes} minutes without activity.`
    case 'ended':
      return 'Your session has ended. Sign in again.'
    case 'elsewhere':
      return 'You signed out in another tab.'
    case 'chosen':
      return 'You are signed out.'
    case 'password-changed':
      return 'Your password was changed. Sign in with the new one.'
    case 'none':
      return undefined
  }
}
