/**
 * Recognizes IPv6 addresses that contain an IPv4 address. A translator or a tunnel would forward the traffic to that
 * address.
 */
import ipaddr from 'ipaddr.js'
import { type Address, contains, type Network, parseNetworks } from './networks.ts'

type Bytes = readonly number[]
type Reading = (bytes: Bytes) => number[][]

const at =
  (...places: Bytes[]): Reading =>
  (bytes) =>
    places.map((place) => place.map((index) => bytes[index] ?? 0))

const atTheEnd = at([12, 13, 14, 15])

/**
 * Extracts the IPv4 address from every position that RFC 6052, 2.2 allows. The actual position depends on the prefix
 * length, which only the network's operator knows. Drops addresses in 0.0.0.0/8, because they are padding bytes. If all
 * addresses are in 0.0.0.0/8, drops none.
 */
const inAnyWay: Reading = (bytes) => {
  const read = at([6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], [12, 13, 14, 15])(bytes)
  const likely = read.filter(([first]) => first !== 0)
  return likely.length > 0 ? likely : read
}

/** Extracts the Teredo server, and the Teredo client, whose address is stored with all bits inverted (RFC 4380). */
const teredo: Reading = (bytes) => [
  ...at([4, 5, 6, 7])(bytes),
  ...atTheEnd(bytes.map((byte) => byte ^ 0xff)),
]

const read = (network: string, reading: Reading) => ({
  network: parseNetworks(network)[0] as Network,
  reading,
})

const FORMS = [
  read('::/96', atTheEnd), // IPv4-compatible, RFC 4291
  read('::ffff:0:0/96', atTheEnd), // IPv4-mapped, RFC 4291
  read('::ffff:0:0:0/96', atTheEnd), // IPv4-translated, RFC 2765
  read('64:ff9b::/96', atTheEnd), // NAT64, RFC 6052
  read('64:ff9b:1::/48', inAnyWay), // Local-use NAT64, RFC 8215
  read('2002::/16', at([2, 3, 4, 5])), // 6to4, RFC 3056
  read('2001::/32', teredo),
]

/** `::` and `::1` are in `::/96` but do not contain an IPv4 address. */
const PLAIN = parseNetworks('::, ::1')

/**
 * Returns the IPv4 addresses that an IPv6 address contains or may contain. Returns an empty list for other addresses.
 */
export function ipv4In(address: Address): Address[] {
  if (address.kind() === 'ipv4' || PLAIN.some((each) => contains(each, address))) return []
  const bytes = address.toByteArray()
  const found = FORMS.filter(({ network }) => contains(network, address)).flatMap(({ reading }) =>
    reading(bytes),
  )
  if (isIsatap(bytes)) found.push(...atTheEnd(bytes))
  return found.map((octets) => new ipaddr.IPv4(octets))
}

/** Returns true for an ISATAP interface identifier, 0:5efe or 200:5efe, in any network (RFC 5214, 6.1). */
function isIsatap(bytes: Bytes): boolean {
  const [universal = 0, ...rest] = bytes.slice(8, 12)
  return (universal & ~0x02) === 0 && rest.join() === '0,94,254'
}
