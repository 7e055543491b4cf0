/** IP addresses and networks: read strictly, and compared. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

export type Address = ipaddr.IPv4 | ipaddr.IPv6

/** A network: the addresses whose first `bits` bits are those of `first`. */
export interface Network {
  first: Address
  bits: number
}

/**
 * Reads an address in its usual notation. Returns undefined for anything else: ipaddr.js alone would
 * also take `0x7f.1`, or an address with a zone.
 */
export function parseAddress(text: string): Address | undefined {
  const family = text.includes('%') ? 0 : isIP(text)
  if (family === 4) return ipaddr.IPv4.parse(text)
  if (family !== 6) return undefined
  // Without dots: ipaddr.js takes `::1.2.3.4` for `::ffff:1.2.3.4`, which is another address.
  return ipaddr.IPv6.parse(new URL(`http://[${text}]`).hostname.slice(1, -1))
}

/** An IPv4 address that a socket shows as IPv6 (`::ffff:192.0.2.7`), as plain IPv4; others unchanged. */
export function unmapped(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '')
}

export function contains({ first, bits }: Network, address: Address): boolean {
  return first.kind() === address.kind() && address.match(first, bits)
}

/**
 * Whether the address is in one of the networks, an IPv4 address also where either of them is written
 * as IPv6 (`::ffff:192.0.2.7`). What is no address is in none.
 */
export function isWithin(networks: readonly Network[], text: string): boolean {
  const address = parseAddress(text)
  if (!address) return false
  const { first: plain } = asIPv4({ first: address, bits: 128 })
  return networks.some((network) => contains(asIPv4(network), plain))
}

/** A network of IPv4-mapped addresses (RFC 4291, 2.5.5.2) as the IPv4 network that it is. */
function asIPv4(network: Network): Network {
  const { first, bits } = network
  const isMapped = first instanceof ipaddr.IPv6 && bits >= 96 && first.isIPv4MappedAddress()
  return isMapped ? { first: first.toIPv4Address(), bits: bits - 96 } : network
}

/**
 * Reads a list such as `10.1.0.0/16, fd00::/8, 192.0.2.7` (RFC 4632; an address alone is a network of
 * one). Empty text is an empty list. @throws Error that says which part is wrong
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
  if (!first) throw new Error(`"${part}" is no network; write it as 10.1.0.0/16 or fd00::/8`)
  const width = first.kind() === 'ipv4' ? 32 : 128
  const bits = prefix === undefined ? width : Number(prefix)
  if (bits > width) throw new Error(`"${part}" has a prefix of more than ${width} bits`)
  const { IPv4, IPv6 } = ipaddr
  const start = (first.kind() === 'ipv4' ? IPv4 : IPv6).networkAddressFromCIDR(`${first}/${bits}`)
  if (`${start}` !== `${first}`)
    throw new Error(`"${part}" has bits set behind its prefix; write it as ${start}/${bits}`)
  return { first, bits }
}
