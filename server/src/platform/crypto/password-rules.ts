/** Rules for new passwords (NIST SP 800-63B §3.1.1.2, OWASP ASVS 5.0 §6.2). */
import { createRequire } from 'node:module'
import { foldEmail } from '../../lib/email.ts'
import { isBlank } from '../../lib/pasted.ts'
import { invalidValue } from '../../lib/problems.ts'

let common: Set<string> | undefined

/** Returns common passwords, most of them from data breaches. Loads them (about 200 KB) on first use. */
function commonPasswords(): Set<string> {
  const load = createRequire(import.meta.url)
  common ??= new Set(load('@zxcvbn-ts/language-common').dictionary['passwords-common'] as string[])
  return common
}

/** The minimum length of an e-mail address's local part for this check. Passwords contain shorter texts by chance. */
const SHORTEST_CONTEXT = 3

/** Returns the error message for a blank or too common password, or one that contains the e-mail's local part. */
export function weaknessOf(password: string | undefined, email = ''): string | undefined {
  if (password === undefined) return undefined
  if (isBlank(password)) return 'the password must not consist of spaces only'
  const lower = password.normalize('NFKC').toLowerCase()
  if (commonPasswords().has(lower)) return 'this password is too common. Choose another one'
  const address = foldEmail(email)
  const local = address.slice(0, Math.max(address.lastIndexOf('@'), 0))
  if (local.length >= SHORTEST_CONTEXT && lower.includes(local))
    return 'the password must not contain the part of your e-mail address before the @'
  return undefined
}

/** Requires that a new password is strong enough. @throws InvalidInput at `loc` if the password is weak */
export function refuseWeakPassword(password: string, email: string, loc: string[]): void {
  const weakness = weaknessOf(password, email)
  if (weakness) throw invalidValue(loc, weakness)
}
