/** Tests the operator's lists of networks. They are parsed strictly, and errors suggest the correct notation. */
import { describe, expect, test } from 'vitest'
import { contains, isWithin, parseAddress, parseNetworks, unmapped } from './networks.ts'

const shown = (text: string) => parseNetworks(text).map(({ first, bits }) => `${first}/${bits}`)
const isIn = (text: string, address: string) => {
  const parsed = parseAddress(address)
  return parsed !== undefined && parseNetworks(text).some((network) => contains(network, parsed))
}

describe('a list of networks', () => {
  test.each([
    ['', []],
    [' , ', []],
    ['10.1.0.0/16', ['10.1.0.0/16']],
    ['192.0.2.7', ['192.0.2.7/32']],
    [' fd00::/8 ,10.0.0.0/8, ::1', ['fd00::/8', '10.0.0.0/8', '::1/128']],
    ['0.0.0.0/0,::/0', ['0.0.0.0/0', '::/0']],
  ])('parses the list "%s"', (text, networks) => {
    expect(shown(text)).toEqual(networks)
  })

  test.each([
    ['localhost', '"localhost" is not a valid network. Write it as 10.1.0.0/16 or fd00::/8'],
    ['10.0.0.0/8, 10.1', '"10.1" is not a valid network. Write it as 10.1.0.0/16 or fd00::/8'],
    ['0x7f.0.0.1', '"0x7f.0.0.1" is not a valid network. Write it as 10.1.0.0/16 or fd00::/8'],
    ['010.0.0.1', '"010.0.0.1" is not a valid network. Write it as 10.1.0.0/16 or fd00::/8'],
    ['10.0.0.0/8/8', '"10.0.0.0/8/8" is not a valid network. Write it as 10.1.0.0/16 or fd00::/8'],
    ['10.0.0.0/', '"10.0.0.0/" is not a valid network. Write it as 10.1.0.0/16 or fd00::/8'],
    ['10.0.0.0/-1', '"10.0.0.0/-1" is not a valid network. Write it as 10.1.0.0/16 or fd00::/8'],
    ['fe80::1%eth0', '"fe80::1%eth0" is not a valid network. Write it as 10.1.0.0/16 or fd00::/8'],
    ['10.0.0.0/33', '"10.0.0.0/33" has a prefix longer than 32 bits'],
    ['::/129', '"::/129" has a prefix longer than 128 bits'],
    ['10.1.2.3/16', '"10.1.2.3/16" has bits set after its prefix. Write it as 10.1.0.0/16'],
    ['fd00::1/8', '"fd00::1/8" has bits set after its prefix. Write it as fd00::/8'],
  ])('rejects the list "%s"', (text, message) => {
    expect(() => parseNetworks(text)).toThrow(new Error(message))
  })
})

describe('a parsed network', () => {
  test.each([
    ['10.1.0.0/16', '10.1.0.0', '10.1.255.255', '10.0.255.255', '10.2.0.0'],
    ['10.1.2.128/25', '10.1.2.128', '10.1.2.255', '10.1.2.127', '10.1.3.0'],
    ['fd00::/8', 'fd00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'fcff::', 'fe00::'],
    ['2600:1:2:fff0::/60', '2600:1:2:fff0::', '2600:1:2:ffff::9', '2600:1:2:ffef::', '2600:1:3::'],
  ])('%s contains its first and last address, but not the addresses next to it', (...row) => {
    const [network, first, last, before, after] = row
    expect([first, last, before, after].map((address) => isIn(network, address))).toEqual([
      true,
      true,
      false,
      false,
    ])
  })

  test('contains no address of another IP version', () => {
    expect(isIn('0.0.0.0/0', '::1')).toBe(false)
    expect(isIn('::/0', '127.0.0.1')).toBe(false)
    expect(isIn('10.0.0.0/8', '::ffff:10.0.0.1')).toBe(false)
  })

  test('stays the same if it is written with dotted IPv4 notation at its end', () => {
    // ipaddr.js alone would read `::10.0.0.0` as `::ffff:10.0.0.0`.
    expect(shown('::10.0.0.0/104, ::ffff:10.0.0.0/104')).toEqual([
      '::a00:0/104',
      '::ffff:a00:0/104',
    ])
  })
})

test('an IPv4-mapped IPv6 address of a socket is converted to IPv4', () => {
  expect(['::ffff:192.0.2.7', '::FFFF:192.0.2.7', '192.0.2.7', '::1'].map(unmapped)).toEqual([
    '192.0.2.7',
    '192.0.2.7',
    '192.0.2.7',
    '::1',
  ])
})

describe('the check whether a list of networks contains an address', () => {
  const listed = parseNetworks('192.0.2.0/24, ::ffff:198.51.100.0/120, 2001:db8::/32')

  test.each(['192.0.2.7', '::ffff:192.0.2.7', '::FFFF:c000:207', '198.51.100.9', '2001:db8::1'])(
    'succeeds for %s in any notation',
    (address) => {
      expect(isWithin(listed, address)).toBe(true)
    },
  )

  test.each([
    '192.0.3.7',
    '::192.0.2.7',
    '64:ff9b::192.0.2.7',
    '2001:db9::1',
    '192.0.2.7:443',
    '192.0.2.7, 203.0.113.1',
    'fe80::1%eth0',
    'unknown',
    '',
  ])('fails for "%s"', (address) => {
    expect(isWithin(listed, address)).toBe(false)
  })

  test('fails for IPv4 addresses in ::/0, and for any address in an empty list', () => {
    expect(isWithin(parseNetworks('::/0'), '192.0.2.7')).toBe(false)
    expect(isWithin(parseNetworks('0.0.0.0/0'), '::ffff:192.0.2.7')).toBe(true)
    expect(isWithin([], '192.0.2.7')).toBe(false)
  })
})
