/**
 * The one spelling of an e-mail address, for look-up, uniqueness and every count alike. Accounts have
 * ASCII addresses, so what other spellings of one look or sound like is decided here and nowhere else.
 */
import { domainToASCII } from 'node:url'

/** Returns an address without case, width and invisible characters, and with its domain in ASCII. */
export function foldEmail(address: string): string {
  return withAsciiDomain(
    address
      .normalize('NFKC')
      .toLowerCase()
      .replaceAll(/[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu, ''),
  )
}

/** Returns an address with an international domain in its ASCII form (RFC 5891), and any other text as it is. */
export function withAsciiDomain(address: string): string {
  const at = address.lastIndexOf('@')
  const domain = address.slice(at + 1)
  if (at < 0 || /^[ -~]*$/.test(domain)) return address
  return `${address.slice(0, at + 1)}${asciiOf(domain) || domain}`
}

/** Returns an empty text for an invalid domain. Characters that end the host of a URL would be cut off. */
const asciiOf = (domain: string): string =>
  /[\s/\\?#:@%[\]]/.test(domain) ? '' : domainToASCII(domain)

const LOCAL_PART =
  /^[\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~-]+([.][\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~-]+)*$/u
const DOMAIN = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?[.])+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i

/** Returns true for an address whose local part and domain may be international (RFC 6531). */
export function isInternationalEmail(address: string): boolean {
  const at = address.lastIndexOf('@')
  const local = address.slice(0, at)
  return local.length <= 64 && LOCAL_PART.test(local) && DOMAIN.test(asciiOf(address.slice(at + 1)))
}

/** Whether what was typed is shaped like an address: it may be a password in the wrong field. */
export function isEmailShaped(text: string): boolean {
  return /^[^\s@]{1,64}@[^\s@.]+(\.[^\s@.]+)+$/.test(text)
}
