/** Checks URLs without DNS: their form, and any addresses that they contain. */
import { isIP } from 'node:net'
import { checkAddress, isAllowedLoopback, type TargetPolicy } from './addresses.ts'

/**
 * Checks a URL. Returns the URL with addresses in plain notation, without a final dot of the host and without a
 * fragment. If the URL is not allowed, returns an error message in `refusal`. This is a sentence, or a phrase that
 * starts with "must". `isPolicy` is true if another policy would allow the URL.
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
    return { refusal: 'must not contain a user name or password' }
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1)
  if (!NAMED.test(url.hostname)) return { refusal: 'must contain a host' }
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
 * Returns the addresses of a URL's host that are known without DNS. These are a literal address, or the addresses of
 * localhost and its subdomains (RFC 6761, 6.3). Returns undefined for other hosts. URL has already normalized literals:
 * `2130706433`, `0x7f.1` and full-width digits all become 127.0.0.1.
 */
export function literalAddresses(hostname: string): string[] | undefined {
  if (hostname.startsWith('[')) return [hostname.slice(1, -1)]
  if (isIP(hostname) !== 0) return [hostname]
  return /(^|\.)localhost$/.test(hostname) ? ['127.0.0.1', '::1'] : undefined
}

/** Matches valid hosts (RFC 1035, 2.3.4): labels of 1 to 63 characters, 253 in total. Bracketed IPv6 is one label. */
const NAMED = /^(?=.{1,253}$)[^.]{1,63}(\.[^.]{1,63})*$/
