/** Which passwords are refused (NIST SP 800-63B §3.1.1.2, OWASP ASVS 5.0 §6.2). */
import { createRequire } from 'node:module'
import { InvalidInput } from '../../lib/problems.ts'

let common: Set<string> | undefined

/** The common passwords, most of them from breaches; read when first needed, some 200 KB. */
function commonPasswords(): Set<string> {
  const load = createRequire(import.meta.url)
  common ??= new Set(load('@zxcvbn-ts/language-common').dictionary['passwords-common'] as string[])
  return common
}

/** An e-mail's local part this short is in too many passwords by chance. */
const SHORTEST_CONTEXT = 3

/** @throws InvalidInput when the password is a common one or holds the local part of the e-mail */
export function refuseWeakPassword(password: string, email: string, loc: string[]): void {
  const lower = password.normalize('NFKC').toLowerCase()
  const refuse = (msg: string) => {
    throw new InvalidInput([{ loc, msg: `Value error, ${msg}`, type: 'value_error' }])
  }
  if (commonPasswords().has(lower))
    refuse('this password is among the most common ones; choose another')
  const name = email.slice(0, Math.max(email.lastIndexOf('@'), 0))
  const local = name.normalize('NFKC').toLowerCase()
  if (local.length >= SHORTEST_CONTEXT && lower.includes(local))
    refuse('the password must not contain the name of the e-mail address')
}
