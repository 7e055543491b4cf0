/** IPv6 addresses that stand for an IPv4 address: a translator or a tunnel on the way leads there. */
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
 * RFC 6052, 2.2: where it stands depends on the prefix's length, which only that network knows. So it
 * is read in every way, except that one which finds 0.0.0.0/8 read filling bytes, if another does not.
 */
const inAnyWay: Reading = (bytes) => {
  const read = at([6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], [12, 13, 14, 15])(bytes)
  const likely = read.filter(([first]) => first !== 0)
  return likely.length > 0 ? likely : read
}

/** RFC 4380: the Teredo server, and its client with all bits inverted. */
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
  read('64:ff9b:1::/48', inAnyWay), // NAT64 of a network's own, RFC 8215
  read('2002::/16', at([2, 3, 4, 5])), // 6to4, RFC 3056
  read('2001::/32', teredo),
]

/** `::` and `::1` have a meaning of their own. */
const PLAIN = parseNetworks('::, ::1')

/** The IPv4 addresses that an IPv6 address stands for or may stand for; none for a plain address. */
export function ipv4In(address: Address): Address[] {
  if (address.kind() === 'ipv4' || PLAIN.some((each) => contains(each, address))) return []
  const bytes = address.toByteArray()
  const found = FORMS.filter(({ network }) => contains(network, address)).flatMap(({ reading }) =>
    reading(bytes),
  )
  if (isIsatap(bytes)) found.push(...atTheEnd(bytes))
  return found.map((octets) => new ipaddr.IPv4(octets))
}

/** RFC 5214, 6.1: the interface identifier 0:5efe or 200:5efe, within any network. */
function isIsatap(bytes: Bytes): boolean {
  const [universal = 0, ...rest] = bytes.slice(8, 12)
  return (universal & ~0x02) === 0 && rest.join() === '0,94,254'
}
