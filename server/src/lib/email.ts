/**
 * The one spelling of an e-mail address, for look-up, uniqueness and every count alike. Accounts have
 * ASCII addresses, so what other spellings of one look or sound like is decided here and nowhere else.
 */

/** Case, width and invisible characters are nothing. */
export function foldEmail(address: string): string {
  return address
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu, '')
}

/** Whether what was typed is shaped like an address: it may be a password in the wrong field. */
export function isEmailShaped(text: string): boolean {
  return /^[^\s@]{1,64}@[^\s@.]+(\.[^\s@.]+)+$/.test(text)
}
