export const newPasswordTexts = {
  title: 'Choose your own password',
  lead: 'Your password was set for you. Choose your own to go on.',
  current: 'Current password',
  currentMissing: 'Enter your current password.',
  wrong: 'This is not your current password.',
  submit: 'Change the password',
  busy: 'Changing the password…',
  signOut: 'Sign out',
}
