/** Parses IP addresses and networks strictly, and compares them. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

export type Address = ipaddr.IPv4 | ipaddr.IPv6

/** A network: all addresses whose first `bits` bits are equal to those of `first`. */
export interface Network {
  first: Address
  bits: number
}

/**
 * Parses an IP address in its usual notation. Returns undefined for any other text. ipaddr.js would also accept
 * `0x7f.1`, or an address with a zone.
 */
export function parseAddress(text: string): Address | undefined {
  const family = text.includes('%') ? 0 : isIP(text)
  if (family === 4) return ipaddr.IPv4.parse(text)
  if (family !== 6) return undefined
  // Removes the dotted notation, because ipaddr.js would read `::1.2.3.4` as `::ffff:1.2.3.4`, which is a different
  // address.
  return ipaddr.IPv6.parse(new URL(`http://[${text}]`).hostname.slice(1, -1))
}

/** Converts an IPv4-mapped IPv6 address (`::ffff:192.0.2.7`) to IPv4. Returns other addresses unchanged. */
export function unmapped(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '')
}

export function contains({ first, bits }: Network, address: Address): boolean {
  return first.kind() === address.kind() && address.match(first, bits)
}

/**
 * Returns true if one of the networks contains the address. IPv4 addresses and networks also match if they are written
 * as IPv6 (`::ffff:192.0.2.7`). Text that is not an address never matches.
 */
export function isWithin(networks: readonly Network[], text: string): boolean {
  const address = parseAddress(text)
  if (!address) return false
  const { first: plain } = asIPv4({ first: address, bits: 128 })
  return networks.some((network) => contains(asIPv4(network), plain))
}

/** Converts a network of IPv4-mapped addresses (RFC 4291, 2.5.5.2) to the IPv4 network. Returns others unchanged. */
function asIPv4(network: Network): Network {
  const { first, bits } = network
  const isMapped = first instanceof ipaddr.IPv6 && bits >= 96 && first.isIPv4MappedAddress()
  return isMapped ? { first: first.toIPv4Address(), bits: bits - 96 } : network
}

/**
 * Parses a list such as `10.1.0.0/16, fd00::/8, 192.0.2.7` (RFC 4632). A single address is a network of one address.
 * Empty text is an empty list.
 * @throws Error that quotes the invalid part
 */
export function parseNetworks(text: string): Network[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(parseNetwork)
}

function parseNetwork(part: string): Network {
  const [, address = '', prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(part) ?? []
  const first = parseAddress(address)
  if (!first)
    throw new Error(`"${part}" is not a valid network. Write it as 10.1.0.0/16 or fd00::/8`)
  const width = first.kind() === 'ipv4' ? 32 : 128
  const bits = prefix === undefined ? width : Number(prefix)
  if (bits > width) throw new Error(`"${part}" has a prefix longer than ${width} bits`)
  const { IPv4, IPv6 } = ipaddr
  const start = (first.kind() === 'ipv4' ? IPv4 : IPv6).networkAddressFromCIDR(`${first}/${bits}`)
  if (`${start}` !== `${first}`)
    throw new Error(`"${part}" has bits set after its prefix. Write it as ${start}/${bits}`)
  return { first, bits }
}
