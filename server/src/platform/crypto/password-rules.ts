/** Which passwords are refused (NIST SP 800-63B §3.1.1.2, OWASP ASVS 5.0 §6.2). */
import { createRequire } from 'node:module'
import { foldEmail } from '../../lib/email.ts'
import { isBlank } from '../../lib/pasted.ts'
import { invalidValue } from '../../lib/problems.ts'

let common: Set<string> | undefined

/** The common passwords, most of them from breaches; read when first needed, some 200 KB. */
function commonPasswords(): Set<string> {
  const load = createRequire(import.meta.url)
  common ??= new Set(load('@zxcvbn-ts/language-common').dictionary['passwords-common'] as string[])
  return common
}

/** An e-mail's local part this short is in too many passwords by chance. */
const SHORTEST_CONTEXT = 3

/** What is wrong with a new password, as a sentence: it is a common one, or holds the e-mail's local part. */
export function weaknessOf(password: string | undefined, email = ''): string | undefined {
  if (password === undefined) return undefined
  if (isBlank(password)) return 'the password must not consist of blanks'
  const lower = password.normalize('NFKC').toLowerCase()
  if (commonPasswords().has(lower))
    return 'this password is among the most common ones; choose another'
  const address = foldEmail(email)
  const local = address.slice(0, Math.max(address.lastIndexOf('@'), 0))
  if (local.length >= SHORTEST_CONTEXT && lower.includes(local))
    return 'the password must not contain the name of the e-mail address'
  return undefined
}

/** @throws InvalidInput when the password is weak */
export function refuseWeakPassword(password: string, email: string, loc: string[]): void {
  const weakness = weaknessOf(password, email)
  if (weakness) throw invalidValue(loc, weakness)
}
