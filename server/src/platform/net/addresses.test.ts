/**
 * Tests which addresses the service may connect to. In each special network of the IANA registries, the first and the
 * last address are rejected. The addresses next to the network are allowed.
 */
import { describe, expect, test } from 'vitest'
import { checkAddress } from './index.ts'
import { type Network, parseNetworks } from './networks.ts'

const policyOf = (listed: string) => ({ allowHttp: false, allowedNetworks: parseNetworks(listed) })
const judge = (address: string, listed = '') => checkAddress(address, policyOf(listed))

/** Converts the first address of a network to a number. The tables then need to list only the networks. */
function toNumber({ first }: Network): bigint {
  return first.toByteArray().reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
}

function toText(value: bigint, width: number): string {
  const step = width === 32 ? 8 : 16
  const parts = Array.from({ length: width / step }, (_, index) =>
    ((value >> BigInt(width - step * (index + 1))) & ((1n << BigInt(step)) - 1n)).toString(
      width === 32 ? 10 : 16,
    ),
  )
  return parts.join(width === 32 ? '.' : ':')
}

/** Returns the first and last address of a network, and the addresses just outside it. */
function edgesOf(cidr: string) {
  const [network] = parseNetworks(cidr) as [Network]
  const width = network.first.kind() === 'ipv4' ? 32 : 128
  const first = toNumber(network)
  const last = first + (1n << BigInt(width - network.bits)) - 1n
  const [lowest, highest] = [0n, (1n << BigInt(width)) - 1n]
  return {
    inside: [toText(first, width), toText(last, width)],
    outside: [
      ...(first > lowest ? [toText(first - 1n, width)] : []),
      ...(last < highest ? [toText(last + 1n, width)] : []),
    ],
  }
}

const PRIVATE = 'a private address'
const RESERVED = 'a reserved address'
const STANDS_FOR = 'an IPv6 address that maps to an IPv4 address'

/** Special networks without special networks next to them. */
const ISLANDS: [cidr: string, kind: string][] = [
  ['0.0.0.0/8', 'an unspecified address'],
  ['10.0.0.0/8', PRIVATE],
  ['100.64.0.0/10', 'a carrier-grade NAT address'],
  ['127.0.0.0/8', 'a loopback address'],
  ['168.63.129.16/32', 'a cloud metadata address'],
  ['169.254.0.0/16', 'a link-local address'],
  ['172.16.0.0/12', PRIVATE],
  ['192.0.0.0/24', RESERVED],
  ['192.0.2.0/24', RESERVED],
  ['192.31.196.0/24', RESERVED],
  ['192.52.193.0/24', RESERVED],
  ['192.88.99.0/24', RESERVED],
  ['192.168.0.0/16', PRIVATE],
  ['192.175.48.0/24', RESERVED],
  ['198.18.0.0/15', RESERVED],
  ['198.51.100.0/24', RESERVED],
  ['203.0.113.0/24', RESERVED],
  ['2001:db8::/32', RESERVED],
  ['2002::/16', STANDS_FOR],
  ['2620:4f:8000::/48', RESERVED],
  ['3fff::/20', RESERVED],
]

/** Special networks that adjoin or contain other special networks. */
const ADJOINING: [cidr: string, kind: string][] = [
  ['224.0.0.0/4', 'a multicast address'],
  ['240.0.0.0/5', RESERVED],
  ['255.255.255.255/32', 'a broadcast address'],
  ['::/128', 'an unspecified address'],
  ['::1/128', 'a loopback address'],
  ['::0.0.0.2/127', STANDS_FOR],
  ['::1.0.0.0/104', STANDS_FOR],
  ['::ffff:0:0/96', STANDS_FOR],
  ['::ffff:0:0:0/96', STANDS_FOR],
  ['::1:0:0:0/80', RESERVED],
  ['64:ff9b::/96', STANDS_FOR],
  ['64:ff9b:1::/48', STANDS_FOR],
  ['64:ff9b:2::/47', RESERVED],
  ['100::/64', RESERVED],
  ['100:0:0:1::/64', RESERVED],
  ['200::/7', RESERVED],
  ['2001::/32', STANDS_FOR],
  ['2001:1::1/128', RESERVED],
  ['2001:1::3/128', RESERVED],
  ['2001:2::/48', RESERVED],
  ['2001:3::/32', RESERVED],
  ['2001:4:112::/48', RESERVED],
  ['2001:10::/28', RESERVED],
  ['2001:20::/28', RESERVED],
  ['2001:30::/28', RESERVED],
  ['2001:40::/26', RESERVED],
  ['4000::/3', RESERVED],
  ['5f00::/16', RESERVED],
  ['8000::/2', RESERVED],
  ['fc00::/7', PRIVATE],
  ['fe00::/9', RESERVED],
  ['fe80::/10', 'a link-local address'],
  ['fec0::/10', RESERVED],
  ['ff00::/8', 'a multicast address'],
]

describe('the check of addresses', () => {
  test.each([...ISLANDS, ...ADJOINING])('rejects addresses of %s as %s', (cidr, kind) => {
    for (const address of edgesOf(cidr).inside)
      expect(judge(address)).toBe(`${address} is ${kind}, which is not allowed`)
  })

  test.each(ISLANDS)('allows the addresses next to %s', (cidr) => {
    for (const address of edgesOf(cidr).outside)
      expect([address, judge(address)]).toEqual([address, undefined])
  })

  test.each([
    '223.255.255.255',
    '2000::',
    '2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
    '2001:200::',
    '3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
  ])('allows %s, which is next to adjoining special networks', (address) => {
    expect(judge(address)).toBeUndefined()
  })

  test.each([
    '8.8.8.8',
    '1.1.1.1',
    '193.0.6.139',
    '2606:4700:4700::1111',
    '2a00:1450:4001:82b::200e',
  ])('allows the ordinary address %s', (address) => expect(judge(address)).toBeUndefined())

  test.each([
    ['AWS, Google and Azure', '169.254.169.254', 'a link-local address'],
    ['AWS over IPv6', 'fd00:ec2::254', PRIVATE],
    ['Google over IPv6', 'fd20:ce::254', PRIVATE],
    ['Alibaba', '100.100.100.200', 'a carrier-grade NAT address'],
    ['Oracle', '192.0.0.192', RESERVED],
    ['Azure, by a public address', '168.63.129.16', 'a cloud metadata address'],
  ])('rejects the metadata address of %s', (_cloud, address, kind) => {
    expect(judge(address)).toBe(`${address} is ${kind}, which is not allowed`)
  })
})

describe('a network that the operator allows', () => {
  test.each([
    ['127.0.0.0/8', '127.0.0.1'],
    ['10.1.0.0/16', '10.1.2.3'],
    ['::1', '::1'],
    ['fd00::/8', 'fd00:ec2::254'],
    ['168.63.129.16', '168.63.129.16'],
    ['0.0.0.0/0', '255.255.255.255'],
  ])('such as %s makes the address %s allowed', (listed, address) => {
    expect(judge(address, listed)).toBeUndefined()
  })

  test('makes no address outside this network allowed', () => {
    expect(judge('10.2.0.0', '10.1.0.0/16')).toBeDefined()
    expect(judge('127.0.0.1', '::1')).toBeDefined()
    expect(judge('::1', '127.0.0.0/8')).toBeDefined()
  })
})

/** IPv6 forms that contain an IPv4 address, each with its network. */
const EMBEDDED: [form: string, network: string, of: (ipv4: string) => string[]][] = [
  ['IPv4-compatible', '::/96', (ipv4) => [`::${ipv4}`, `::${hex(ipv4)}`]],
  ['IPv4-mapped', '::ffff:0:0/96', (ipv4) => [`::ffff:${ipv4}`, `0:0:0:0:0:ffff:${hex(ipv4)}`]],
  ['IPv4-translated', '::ffff:0:0:0/96', (ipv4) => [`::ffff:0:${ipv4}`]],
  ['NAT64', '64:ff9b::/96', (ipv4) => [`64:ff9b::${ipv4}`]],
  ['local NAT64, /96', '64:ff9b:1::/48', (ipv4) => [`64:ff9b:1::${ipv4}`]],
  ['local NAT64, /48', '64:ff9b:1::/48', (ipv4) => [split(ipv4, 6)]],
  ['local NAT64, /56', '64:ff9b:1::/48', (ipv4) => [split(ipv4, 7)]],
  ['local NAT64, /64', '64:ff9b:1::/48', (ipv4) => [split(ipv4, 9)]],
  ['6to4', '2002::/16', (ipv4) => [`2002:${hex(ipv4)}::1`]],
  ['Teredo client', '2001::/32', (ipv4) => [`2001:0:808:808::${inverted(ipv4)}`]],
  ['Teredo server', '2001::/32', (ipv4) => [`2001:0:${hex(ipv4)}::${inverted('8.8.8.8')}`]],
  ['ISATAP', '2600::/16', (ipv4) => [`2600::5efe:${ipv4}`, `2600::200:5efe:${hex(ipv4)}`]],
  ['ISATAP in 6to4', '2002::/16', (ipv4) => [`2002:808:808::5efe:${ipv4}`]],
]

const octetsOf = (ipv4: string) => ipv4.split('.').map(Number)
const twoDigits = (octet: number) => octet.toString(16).padStart(2, '0')

function hex(ipv4: string): string {
  const [a = '', b = '', c = '', d = ''] = octetsOf(ipv4).map(twoDigits)
  return `${a}${b}:${c}${d}`
}

const inverted = (ipv4: string) =>
  hex(
    octetsOf(ipv4)
      .map((octet) => 255 - octet)
      .join('.'),
  )

/** Embeds an IPv4 address starting at byte `from`, skipping byte 8, which must be 0 (RFC 6052, 2.2). */
function split(ipv4: string, from: number): string {
  const bytes = [0, 0x64, 0xff, 0x9b, 0, 1, ...Array.from({ length: 10 }, () => 0)]
  let place = from
  for (const octet of octetsOf(ipv4)) {
    if (place === 8) place += 1
    bytes[place] = octet
    place += 1
  }
  return bytes.map((byte, index) => twoDigits(byte) + (index % 2 && index < 15 ? ':' : '')).join('')
}

describe.each(EMBEDDED)('an IPv4 address within IPv6: %s', (_form, network, of) => {
  test('is rejected even if the IPv4 address is public', () => {
    for (const address of of('8.8.8.8'))
      expect(judge(address)).toBe(`${address} is ${STANDS_FOR}, which is not allowed`)
  })

  test('is rejected if the operator allows only the IPv4 address', () => {
    for (const address of of('127.0.0.1')) expect(judge(address, '127.0.0.0/8')).toBeDefined()
  })

  test.each(['127.0.0.1', '10.1.2.3', '169.254.169.254', '168.63.129.16', '224.0.0.1'])(
    'is rejected if the operator allows only the IPv6 network and the address maps to %s',
    (ipv4) => {
      for (const address of of(ipv4)) expect(judge(address, network)).toContain('maps to a')
    },
  )

  test('is allowed if the operator allows the IPv6 network and the IPv4 address is public or allowed', () => {
    for (const address of of('8.8.8.8'))
      expect([address, judge(address, network)]).toEqual([address, undefined])
    for (const address of of('10.8.8.8'))
      expect([address, judge(address, `${network}, 10.0.0.0/8`)]).toEqual([address, undefined])
  })
})

describe('an unusual IPv6 address', () => {
  test('is allowed if its interface identifier only resembles ISATAP', () => {
    expect(judge('2600::100:5efe:7f00:1')).toBeUndefined()
    expect(judge('2600::5eff:7f00:1')).toBeUndefined()
  })

  test('is rejected if it has a zone, even if the operator allows every network', () => {
    expect(judge('fe80::1%eth0', '::/0')).toBe(
      'fe80::1%eth0 is an address with a zone, which is not allowed',
    )
    expect(judge('2600::1%1')).toBeDefined()
  })

  test.each(['', 'example.org', '0x7f.1', '2130706433', '0177.0.0.1', '127.1', '8.8.8.8 ', '::g'])(
    'is rejected if it is the malformed "%s", even if the operator allows every network',
    (text) => expect(judge(text, '0.0.0.0/0, ::/0')).toContain('is not a valid IP address'),
  )
})
