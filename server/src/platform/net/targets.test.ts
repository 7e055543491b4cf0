/** Tests target URLs: their form, and every notation of the addresses in them. */

import { describe, expect, test } from 'vitest'
import { fc } from '../../../test/support/properties.ts'
import { parseNetworks } from './networks.ts'
import { checkUrl, literalAddresses } from './targets.ts'

const judge = (text: string, allowHttp = false, listed = '') => {
  const judged = checkUrl(text, { allowHttp, allowedNetworks: parseNetworks(listed) })
  return 'url' in judged ? judged.url.href : judged.refusal
}

describe('a target URL', () => {
  test.each([
    ['https://example.org/hook?a=1', 'https://example.org/hook?a=1'],
    ['HTTPS://Example.ORG:443', 'https://example.org/'],
    [' https://example.org:8443/a b ', 'https://example.org:8443/a%20b'],
    ['https://example.org./hook', 'https://example.org/hook'],
    ['https://example.org/hook#part', 'https://example.org/hook'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
    ['https://intranet/hook', 'https://intranet/hook'],
    ['https://8.8.8.8/', 'https://8.8.8.8/'],
    ['https://[2606:4700:4700:0:0:0:0:1111]/', 'https://[2606:4700:4700::1111]/'],
  ])('is accepted as %s and normalized to %s', (text, normalised) => {
    expect(judge(text)).toBe(normalised)
  })

  test.each([
    ['', 'must be a URL such as https://example.org/hook'],
    ['example.org/hook', 'must be a URL such as https://example.org/hook'],
    ['https://', 'must be a URL such as https://example.org/hook'],
    ['https://exa mple.org', 'must be a URL such as https://example.org/hook'],
    ['https://1.2.3.256/', 'must be a URL such as https://example.org/hook'],
    ['http://example.org', 'must be https'],
    ['ftp://example.org', 'must be https'],
    ['file:///etc/passwd', 'must be https'],
    ['javascript:alert(1)', 'must be https'],
    ['https://user@example.org', 'must not contain a user name or password'],
    ['https://:secret@example.org', 'must not contain a user name or password'],
    ['https://8.8.8.8@127.0.0.1/', 'must not contain a user name or password'],
    ['https://example..org', 'must contain a host'],
    ['https://example.org../', 'must contain a host'],
    [`https://${'a'.repeat(64)}.org`, 'must contain a host'],
    [`https://${'a.'.repeat(127)}org`, 'must contain a host'],
    ['https://127.0.0.1/', '127.0.0.1 is a loopback address, which is not allowed'],
    ['https://[::1]:8443/', '::1 is a loopback address, which is not allowed'],
    ['https://localhost/', '127.0.0.1 is a loopback address, which is not allowed'],
    ['https://a.LOCALHOST./', '127.0.0.1 is a loopback address, which is not allowed'],
  ])('is rejected as "%s" with the message: %s', (text, refusal) => {
    expect(judge(text)).toBe(refusal)
  })

  test('may use http if the policy allows http, but no other scheme', () => {
    expect(judge('http://example.org/hook', true)).toBe('http://example.org/hook')
    expect(judge('ws://example.org/hook', true)).toBe('must be https or http')
  })

  test('may name this computer, even with http, if the policy allows loopback addresses', () => {
    const policy = { allowHttp: false, allowedNetworks: [], allowLoopback: true }
    for (const text of ['http://127.0.0.1:9000/hook', 'http://localhost:9000/', 'https://[::1]/'])
      expect(checkUrl(text, policy)).toEqual({ url: new URL(text) })
    for (const text of ['http://example.org/', 'http://10.0.0.1/', 'https://192.168.0.1/'])
      expect(checkUrl(text, policy)).toMatchObject({ isPolicy: true })
    expect(checkUrl('ftp://127.0.0.1/', policy)).toEqual({ refusal: 'must be https' })
  })

  test('may name localhost only if the policy lists both loopback addresses', () => {
    expect(judge('https://localhost/', false, '127.0.0.0/8')).toContain('::1 is a loopback')
    expect(judge('https://localhost/', false, '127.0.0.0/8, ::1')).toBe('https://localhost/')
  })

  test('may have a host name that only resembles localhost or an address', () => {
    for (const host of ['localhost.example.org', 'notlocalhost', '127.0.0.1.nip.io'])
      expect(literalAddresses(host)).toBeUndefined()
  })
})

describe('a notation of 127.0.0.1', () => {
  test.each([
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0X7F.1/',
    'https://0x7f.0x0.0x0.0x1/',
    'https://127.1/',
    'https://127.0.1/',
    'https://0177.0.0.1/',
    'https://0000000177.1/',
    'https://127.0.0.1./',
    'https://127.0.0.1.:443/',
    'https://１２７.０.０.１/',
    'https://127。0。0。1/',
    'https://①②⑦.0.0.1/',
    'https://%31%32%37.0.0.1/',
    'https:\\\\127.0.0.1\\',
    'https:127.0.0.1',
    'https://127.0.0.1\t/',
    'https://1\n27.0.0.1/',
    'https://127.0.0.1\\@example.org/',
  ])('is rejected as a loopback address: %s', (text) => {
    expect(judge(text)).toBe('127.0.0.1 is a loopback address, which is not allowed')
  })

  test.each([
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:7f00:1]/',
    'https://[0:0:0:0:0:FFFF:7F00:0001]/',
    'https://[::127.0.0.1]/',
    'https://[::7f00:1]/',
    'https://[64:ff9b::127.0.0.1]/',
    'https://[2002:7f00:1::]/',
    'https://[2600::5efe:127.0.0.1]/',
  ])('is rejected as an address that maps to IPv4: %s', (text) => {
    expect(judge(text)).toMatch(
      / is an IPv6 address that maps to an IPv4 address, which is not allowed$/,
    )
  })

  test('a target URL with an IPv6 zone is rejected', () => {
    expect(judge('https://[fe80::1%25eth0]/')).toBe(
      'must be a URL such as https://example.org/hook',
    )
  })
})

/** Notations of a number within an IPv4 address (WHATWG URL, 3.5). */
const writings: ((value: number) => string)[] = [
  (value) => String(value),
  (value) => `0x${value.toString(16)}`,
  (value) => `0X00${value.toString(16).toUpperCase()}`,
  (value) => `0${value.toString(8)}`,
  (value) => `000${value.toString(8)}`,
]
const disguises: ((host: string) => string)[] = [
  (host) => host,
  (host) => `${host}.`,
  (host) => host.replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
  (host) => host.replaceAll('.', '。'),
  (host) => host.replaceAll(/\w/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`),
]

/** Generates arbitrary notations of an address: one to four parts, each in a random notation. */
const spelling = (address: fc.Arbitrary<number>) =>
  fc
    .record({
      address,
      parts: fc.integer({ min: 1, max: 4 }),
      written: fc.array(fc.constantFrom(...writings), { minLength: 4, maxLength: 4 }),
      disguise: fc.constantFrom(...disguises),
    })
    .map(({ address: value, parts, written, disguise }) => {
      const leading = [24, 16, 8].slice(0, parts - 1).map((shift) => (value >>> shift) & 0xff)
      const values = [...leading, value % 2 ** (32 - 8 * (parts - 1))]
      const host = values.map((each, index) => written[index]?.(each)).join('.')
      return { value, text: `https://${disguise(host)}/` }
    })

const plain = (value: number) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff).join('.')
const within = (first: number, bits: number) =>
  fc.integer({ min: first, max: first + 2 ** (32 - bits) - 1 })
const ofPrivate = fc.oneof(
  within(0x0a000000, 8),
  within(0x7f000000, 8),
  within(0xa9fe0000, 16),
  within(0xac100000, 12),
  within(0xc0a80000, 16),
  within(0x64400000, 10),
)

describe('any notation of an IPv4 address', () => {
  test('is rejected if the address is private, and the error shows it in plain notation', () => {
    fc.assert(
      fc.property(spelling(ofPrivate), ({ value, text }) => {
        expect(judge(text).startsWith(`${plain(value)} is a`)).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })

  test('is accepted if the address is public, and is converted to plain notation', () => {
    fc.assert(
      fc.property(spelling(within(0x08000000, 8)), ({ value, text }) => {
        expect(judge(text)).toBe(`https://${plain(value)}/`)
      }),
      { numRuns: 500 },
    )
  })
})
