/**
 * The guard against forbidden addresses: every connection goes to an address that was checked, even if DNS answers
 * change. 127.0.0.1 stands for a public address and 127.0.0.2 for a private one, because only the first is listed.
 */

import { networkInterfaces } from 'node:os'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemTime } from '../../src/lib/time.ts'
import { openOutbound, parseNetworks } from '../../src/platform/net/index.ts'
import { openReceiver } from '../support/receiver.ts'
import { eventually, ok, openNamed, openRaw, openWayOut } from './scene.ts'

const LISTED = '127.0.0.1'
const hasIPv6 = networkInterfaces().lo?.some(({ family }) => family === 'IPv6') ?? false
const forbidden = (detail: string | RegExp) => ({
  kind: 'failed',
  failure: 'address_forbidden',
  detail: typeof detail === 'string' ? detail : expect.stringMatching(detail),
})

/** Opens two servers with the same port, one on the listed address and one on the other address. */
async function bothSides(answer = ok('listed', 'connection: close')) {
  const listed = await openRaw((socket) => socket.end(answer))
  const other = await openRaw((socket) => socket.end(ok('other')), '127.0.0.2', listed.port)
  return { listed, other, url: (host: string) => `http://${host}:${listed.port}/hook` }
}

describe('an IP address in a webhook URL', () => {
  test.each([
    '127.0.0.2',
    '2130706434',
    '0x7f.2',
    '127.2',
    '0177.0.0.2',
    '127.0.0.2.',
    '[::ffff:127.0.0.2]',
  ])('is refused without a connection if it is forbidden: %s', async (host) => {
    const { other, url } = await bothSides()
    expect(await openWayOut({ allowed: LISTED }).send(url(host))).toMatchObject(
      forbidden(/is a loopback address|maps to an IPv4 address/),
    )
    expect(other.connections()).toBe(0)
  })

  test('is connected to in any spelling if it is allowed', async () => {
    const { url } = await bothSides()
    for (const host of ['127.0.0.1', '2130706433', '0x7f.1', '127.0.0.1.'])
      expect(await openWayOut({ allowed: LISTED }).send(url(host))).toMatchObject({
        kind: 'answered',
        body: 'listed',
        address: '127.0.0.1',
      })
  })

  test.skipIf(!hasIPv6)('may be an allowed IPv6 address', async () => {
    const server = await openRaw((socket) => socket.end(ok('six')), '::1')
    const out = openWayOut({ allowed: '::1' })
    expect(await out.send(`http://[::1]:${server.port}/`)).toMatchObject({
      body: 'six',
      address: '::1',
    })
  })
})

describe('a webhook URL', () => {
  test.each([
    ['ftp://127.0.0.1/', 'the URL must be https or http'],
    ['http://me@127.0.0.1/', 'the URL must not contain a user name or password'],
    ['nonsense', 'the URL must be a URL such as https://example.org/hook'],
  ])('is refused without a connection: %s', async (url, detail) => {
    expect(await openWayOut().send(url)).toMatchObject({ ...forbidden(detail), address: null })
  })

  test('must be https if http is not allowed', async () => {
    const { url, listed } = await bothSides()
    const out = openOutbound({
      clock: systemTime,
      policy: { allowHttp: false, allowedNetworks: parseNetworks(LISTED) },
    })
    const post = { headers: {}, body: '{}', deadlineMs: 5000, keepBytes: 0 }
    expect(await out.post({ ...post, url: url('127.0.0.1') })).toMatchObject(
      forbidden('the URL must be https'),
    )
    expect(listed.connections()).toBe(0)
    await out.close()
  })
})

describe('a host name in a webhook URL', () => {
  test('is connected to at its address if that address is allowed', async () => {
    const { url } = await bothSides()
    const { out } = await openNamed({ 'hooks.test': ['127.0.0.1'] }, { allowed: LISTED })
    expect(await out.send(url('hooks.test'))).toMatchObject({
      body: 'listed',
      address: '127.0.0.1',
    })
  })

  test('is refused without a connection if its address is forbidden, and the error does not reveal the address', async () => {
    const { url, other } = await bothSides()
    const { out } = await openNamed({ 'hooks.test': ['127.0.0.2'] }, { allowed: LISTED })
    expect(await out.send(url('hooks.test'))).toMatchObject({
      ...forbidden('the host name resolves to a loopback address, which is not allowed'),
      address: null,
    })
    expect(other.connections()).toBe(0)
  })

  test.each([
    ['the last one', ['127.0.0.1', '127.0.0.2']],
    ['the first one', ['127.0.0.2', '127.0.0.1']],
    ['the IPv6 address', ['127.0.0.1', '::1']],
    ['an IPv4-mapped IPv6 address', ['127.0.0.1', '::ffff:127.0.0.2']],
    ['a NAT64 address', ['127.0.0.1', '64:ff9b::127.0.0.2']],
  ])(
    'is refused without a connection if one of its addresses is forbidden: %s',
    async (_where, addresses) => {
      const { url, listed, other } = await bothSides()
      const { out } = await openNamed({ 'hooks.test': addresses }, { allowed: LISTED })
      expect(await out.send(url('hooks.test'))).toMatchObject(
        forbidden(/^the host name resolves to/),
      )
      expect([listed.connections(), other.connections()]).toEqual([0, 0])
    },
  )

  test('is checked by the target of its alias, if it is an alias', async () => {
    const { url, other } = await bothSides()
    const zone = {
      'a.test': { cname: 'b.test' },
      'b.test': { cname: 'c.test' },
      'c.test': ['127.0.0.1'],
      'bad.test': { cname: 'inside.test' },
      'inside.test': ['127.0.0.2'],
    }
    const { out } = await openNamed(zone, { allowed: LISTED })
    expect(await out.send(url('a.test'))).toMatchObject({ body: 'listed' })
    expect(await out.send(url('bad.test'))).toMatchObject(forbidden(/loopback/))
    expect(other.connections()).toBe(0)
  })

  test('is connected to at most at its first sixteen addresses per address family', async () => {
    const { url, other } = await bothSides()
    const first = Array.from({ length: 16 }, (_, index) => `127.0.1.${index + 1}`)
    const { out } = await openNamed(
      { 'many.test': ['127.0.0.1', ...first.slice(1), '127.0.0.2'] },
      { allowed: `${LISTED}, 127.0.1.0/24` },
    )
    expect(await out.send(url('many.test'))).toMatchObject({ body: 'listed' })
    expect(other.connections()).toBe(0)
  })

  test('below localhost is resolved to this computer, without a DNS query', async () => {
    const { url } = await bothSides()
    const { out, dns } = await openNamed({}, { allowed: `${LISTED}, ::1` })
    for (const host of ['localhost', 'LocalHost.', 'a.b.localhost'])
      expect(await out.send(url(host))).toMatchObject({ body: 'listed', address: '127.0.0.1' })
    expect(await openWayOut({ allowed: LISTED }).send(url('localhost'))).toMatchObject(
      forbidden('::1 is a loopback address, which is not allowed'),
    )
    expect(dns.asked).toEqual([])
  })
})

describe('a DNS server that changes its response', () => {
  const turning = (index: number, type: string) =>
    type === 'A' ? [index === 0 ? '127.0.0.1' : '127.0.0.2'] : []

  test('is asked once per connection, and the connection goes to the checked address', async () => {
    const { url, other } = await bothSides(ok('listed'))
    const { out, dns } = await openNamed({ 'turn.test': turning }, { allowed: LISTED })
    expect(await out.send(url('turn.test'))).toMatchObject({ body: 'listed', address: '127.0.0.1' })
    expect(dns.asked.toSorted()).toEqual(['A turn.test', 'AAAA turn.test'])
    expect(other.connections()).toBe(0)
  })

  test('has its new response checked for the next connection, which is refused', async () => {
    const { url, listed, other } = await bothSides()
    const { out, dns } = await openNamed({ 'turn.test': turning }, { allowed: LISTED })
    expect(await out.send(url('turn.test'))).toMatchObject({ body: 'listed' })
    expect(await out.send(url('turn.test'))).toMatchObject(forbidden(/loopback/))
    expect(dns.asked).toHaveLength(4)
    expect([listed.connections(), other.connections()]).toEqual([1, 0])
  })

  test('is not asked again while an open connection is reused', async () => {
    const listed = await openRaw((socket) => socket.write(ok('listed')))
    const { out, dns } = await openNamed({ 'turn.test': turning }, { allowed: LISTED })
    for (let round = 0; round < 3; round += 1)
      expect(await out.send(`http://turn.test:${listed.port}/`)).toMatchObject({
        body: 'listed',
        address: '127.0.0.1',
      })
    expect(dns.asked).toHaveLength(2)
    expect(listed.connections()).toBe(1)
  })

  test('has its response checked again after an open connection broke', async () => {
    const listed = await openRaw((socket, { ofConnection }) =>
      ofConnection === 0 ? socket.write(ok('listed')) : socket.resetAndDestroy(),
    )
    const other = await openRaw((socket) => socket.end(ok('other')), '127.0.0.2', listed.port)
    const { out } = await openNamed({ 'turn.test': turning }, { allowed: LISTED })
    const url = `http://turn.test:${listed.port}/`
    expect(await out.send(url)).toMatchObject({ body: 'listed' })
    expect(await out.send(url)).toMatchObject(forbidden(/loopback/))
    expect(other.connections()).toBe(0)
  })
})

describe('a redirect by a webhook receiver', () => {
  test.each([301, 302, 303, 307, 308])(
    'with the status %i is not followed, and is returned as the response',
    async (status) => {
      const inside = await openReceiver()
      const outside = await openReceiver({
        answer: () => ({ status, headers: { location: inside.url }, body: 'over there' }),
      })
      expect(await openWayOut().send(outside.url)).toMatchObject({
        kind: 'answered',
        status,
        body: 'over there',
      })
      expect(inside.received).toEqual([])
    },
  )
})

test('the address of a connection is checked again when it is established, before any byte is sent', async () => {
  const server = await openRaw((socket) => socket.write(ok()))
  // The network is removed from the list after the first check, before the connection is established.
  let allowedNetworks = parseNetworks(LISTED)
  const out = openOutbound({
    clock: systemTime,
    policy: {
      allowHttp: true,
      get allowedNetworks() {
        return allowedNetworks
      },
    },
    async resolver() {
      process.nextTick(() => {
        allowedNetworks = []
      })
      return ['127.0.0.1']
    },
  })
  onTestFinished(() => out.close())
  for (const protocol of ['http', 'https']) {
    allowedNetworks = parseNetworks(LISTED)
    const url = `${protocol}://turned.test:${server.port}/`
    const post = { url, headers: {}, body: '{}', deadlineMs: 5000, keepBytes: 0 }
    expect(await out.post(post)).toMatchObject(
      forbidden('the connection leads to a different address than the checked one'),
    )
  }
  await eventually('both have been seen', () => server.connections() === 2 && server.open() === 0)
  expect(server.bytes()).toBe(0)
})
