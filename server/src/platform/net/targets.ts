/** Judges URLs without asking anybody: their shape, and the addresses that they show by themselves. */
import { isIP } from 'node:net'
import { checkAddress, isAllowedLoopback, type TargetPolicy } from './addresses.ts'

/**
 * Judges a URL. Returns it normalised (odd spellings of an address made plain, no dot at the host's
 * end, no fragment), or the reason of the refusal, for a sentence or as one; with `isPolicy` where another policy
 * would allow it.
 */
export function checkUrl(
  text: string,
  policy: TargetPolicy,
): { url: URL } | { refusal: string; isPolicy?: boolean } {
  const url = URL.parse(text)
  if (!url) return { refusal: 'must be a URL such as https://example.org/hook' }
  if (url.protocol === 'http:' && !mayBeHttp(url, policy))
    return { refusal: 'must be https', isPolicy: true }
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return { refusal: policy.allowHttp ? 'must be https or http' : 'must be https' }
  if (url.username !== '' || url.password !== '')
    return { refusal: 'must not hold a user name or password' }
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1)
  if (!NAMED.test(url.hostname)) return { refusal: 'must name a host' }
  for (const address of literalAddresses(url.hostname) ?? []) {
    const refusal = checkAddress(address, policy)
    if (refusal) return { refusal, isPolicy: true }
  }
  if (url.hash !== '') url.hash = ''
  return { url }
}

function mayBeHttp({ hostname }: URL, policy: TargetPolicy): boolean {
  if (policy.allowHttp) return true
  const literal = literalAddresses(hostname)
  return literal?.every((address) => isAllowedLoopback(address, policy)) ?? false
}

/**
 * The addresses of a URL's host, where no DNS has to be asked: those of a literal, and of localhost
 * with all below it (RFC 6761, 6.3). URL has made the odd spellings of a literal plain, as
 * `2130706433`, `0x7f.1` and full-width digits are all 127.0.0.1.
 */
export function literalAddresses(hostname: string): string[] | undefined {
  if (hostname.startsWith('[')) return [hostname.slice(1, -1)]
  if (isIP(hostname) !== 0) return [hostname]
  return /(^|\.)localhost$/.test(hostname) ? ['127.0.0.1', '::1'] : undefined
}

/** RFC 1035, 2.3.4: labels of 1 to 63 signs, and 253 in all. IPv6 in its brackets looks like a label. */
const NAMED = /^(?=.{1,253}$)[^.]{1,63}(\.[^.]{1,63})*$/
