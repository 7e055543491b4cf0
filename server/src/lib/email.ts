/** The canonical spelling of an e-mail address for look-ups, uniqueness and counters. Accounts have ASCII addresses. */
import { domainToASCII } from 'node:url'

/** Returns an address in lower case, in normal width, without invisible characters, and with its domain in ASCII. */
export function foldEmail(address: string): string {
  return withAsciiDomain(
    address
      .normalize('NFKC')
      .toLowerCase()
      .replaceAll(/[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu, ''),
  )
}

/** Returns an address with its international domain in ASCII (RFC 5891). Returns any other text unchanged. */
export function withAsciiDomain(address: string): string {
  const at = address.lastIndexOf('@')
  const domain = address.slice(at + 1)
  if (at < 0 || /^[ -~]*$/.test(domain)) return address
  return `${address.slice(0, at + 1)}${asciiOf(domain) || domain}`
}

/**
 * Returns the domain in ASCII, or an empty text if it is invalid or contains a character that would end a URL's host.
 */
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

/** Returns true if the text looks like an address. Other text may be a password that was typed into the wrong field. */
export function isEmailShaped(text: string): boolean {
  return /^[^\s@]{1,64}@[^\s@.]+(\.[^\s@.]+)+$/.test(text)
}
