/**
 * Returns the network that counts as one client: an IPv4 address, or the /64 of an IPv6 address. One customer can
 * choose any of the 2^64 addresses of a /64.
 */
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
 * Returns the largest network that one customer may have. For an IPv6 network, this is its /48 (RFC 6177). Any other
 * network is returned unchanged. Text after the network is kept.
 */
export function siteOf(network: string): string {
  return network.replace(IPV6_NETWORK, '$1::/48')
}
