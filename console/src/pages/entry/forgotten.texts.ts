export const forgottenTexts = {
  title: 'Reset your password',
  lead: 'We send a link to your e-mail address. It opens a page where you choose a new password.',
  email: 'E-mail',
  emailMissing: 'Enter your e-mail address.',
  submit: 'Send the link',
  busy: 'Sending…',
  signIn: 'Back to sign-in',
  doneTitle: 'Check your mail',
  done: (email: string) =>
    `If there is an account with ${email}, a link is on its way. It may take a minute to arrive.`,
  nothing:
    'No mail? Look in the spam folder, and check the address. An administrator of your clinic can help as well.',
}
