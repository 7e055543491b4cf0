/** Texts of all pages that set a password. */
export const passwordTexts = {
  newPassword: 'New password',
  newPasswordHint:
    '8 to 128 characters. A few unrelated words are easy to remember and hard to guess.',
  newPasswordMissing: 'Enter a new password.',
}
