/** Returns the network that counts as one client: an IPv4 address, or the /64 that one IPv6 customer can use. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const [front = '', back] = address.replace(/%.*$/, '').split('::')
  const groupsOf = (text: string) => (text === '' ? [] : text.split(':'))
  const head = groupsOf(front)
  const tail = groupsOf(back ?? '')
  const between = Array.from({ length: Math.max(8 - head.length - tail.length, 0) }, () => '0')
  const groups = back === undefined ? head : [...head, ...between, ...tail]
  const prefix = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16))
  return `${prefix.join(':')}::/64`
}

const IPV6_NETWORK = /^((?:[0-9a-f]+:){2}[0-9a-f]+):[0-9a-f]+::\/64/

/**
 * Returns the largest network of one customer: an IPv6 /48 (RFC 6177), otherwise unchanged. Keeps text after the
 * network.
 */
export function siteOf(network: string): string {
  return network.replace(IPV6_NETWORK, '$1::/48')
}
