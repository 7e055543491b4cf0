/**
 * Host names that do not resolve, and slow DNS servers. The request fails with a reason, and no other request is
 * delayed.
 */
import { scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemTime } from '../../src/lib/time.ts'
import { dnsResolver, openOutbound } from '../../src/platform/net/index.ts'
import { openDns } from '../support/dns.ts'
import { frozenClock } from '../support/time.ts'
import { eventually, ok, openNamed, openRaw } from './scene.ts'

const unresolved = (detail: string) => ({
  kind: 'failed',
  failure: 'name_not_resolved',
  detail,
  address: null,
})

describe('a host name', () => {
  test.each([
    ['does not exist', 'nobody.test', 'the host name does not exist'],
    ['has no address', 'empty.test', 'the host name has no address'],
    ['is an alias of a missing name', 'alias.test', 'the host name does not exist'],
    ['cannot be resolved', 'broken.test', 'DNS failed (ESERVFAIL)'],
    ['is unknown to DNS', '-_-.test', 'the host name does not exist'],
  ])('makes the request fail with a reason if the name %s', async (_what, name, detail) => {
    const { out } = await openNamed({
      'empty.test': [],
      'alias.test': { cname: 'nobody.test' },
      'broken.test': 'SERVFAIL',
    })
    expect(await out.send(`http://${name}/`)).toMatchObject(unresolved(detail))
  })

  test.each([
    ['has no IPv6 address', () => []],
    ['cannot be resolved to IPv6', () => 'SERVFAIL' as const],
  ])('is reached by IPv4 if it %s', async (_what, ofIPv6) => {
    const server = await openRaw((socket) => socket.write(ok('four')))
    const { out } = await openNamed({
      'four.test': (_index, type) => (type === 'A' ? ['127.0.0.1'] : ofIPv6()),
    })
    expect(await out.send(`http://four.test:${server.port}/`)).toMatchObject({ body: 'four' })
  })

  test('is queried for IPv4 and IPv6 simultaneously', async () => {
    const { promise: bothAsked, resolve } = Promise.withResolvers<void>()
    const dns = await openDns({
      async 'both.test'() {
        if (dns.asked.length === 2) resolve()
        await bothAsked
        return ['127.0.0.1']
      },
    })
    const addresses = dnsResolver({ clock: systemTime, servers: () => [dns.address], tries: 1 })
    expect(await addresses('both.test', new AbortController().signal)).toEqual(['127.0.0.1'])
  })

  test('is queried as written, without search domains or a final dot', async () => {
    const { out, dns } = await openNamed({ intranet: ['127.0.0.1'] })
    const server = await openRaw((socket) => socket.write(ok()))
    expect(await out.send(`http://intranet.:${server.port}/`)).toMatchObject({ status: 200 })
    expect(dns.asked.toSorted()).toEqual(['A intranet', 'AAAA intranet'])
  })
})

describe('a DNS server', () => {
  test('that does not respond is abandoned', async () => {
    const dns = await openDns({ 'pit.test': 'silence' })
    const addresses = dnsResolver({
      clock: systemTime,
      servers: () => [dns.address],
      timeoutMs: 50,
      tries: 1,
    })
    await expect(addresses('pit.test', new AbortController().signal)).rejects.toThrow(
      'DNS did not respond',
    )
  })

  test('that is unreachable makes the request fail', async () => {
    const dns = await openDns({})
    await dns.close()
    const out = openOutbound({
      clock: systemTime,
      policy: { allowHttp: true, allowedNetworks: [] },
      resolver: dnsResolver({ clock: systemTime, servers: () => [dns.address], tries: 1 }),
    })
    onTestFinished(() => out.close())
    const post = { url: 'http://a.test/', headers: {}, body: '', deadlineMs: 10_000, keepBytes: 0 }
    expect(await out.post(post)).toMatchObject(unresolved('DNS failed (ECONNREFUSED)'))
  })

  test('that responds slowly is waited for, even if it responded quickly before', async () => {
    // Works like a recursive server: the response is ready at a fixed time, regardless of how many queries came before.
    const found = Promise.withResolvers<void>()
    const zone = {
      'quick.test': ['127.0.0.1'],
      'slow.test': (index: number) => {
        if (index === 1) found.resolve()
        return found.promise.then(() => ['127.0.0.1'])
      },
    }
    const { out } = await openNamed(zone)
    const server = await openRaw((socket) => socket.end(ok('', 'connection: close')))
    for (let round = 0; round < 5; round += 1)
      expect(await out.send(`http://quick.test:${server.port}/`)).toMatchObject({ status: 200 })
    expect(await out.send(`http://slow.test:${server.port}/`)).toMatchObject({ status: 200 })
  })

  test('that does not respond delays no request beyond its deadline', async () => {
    const { out } = await openNamed({ 'pit.test': 'silence' })
    expect(await out.send('http://pit.test/', { deadlineMs: 200 })).toMatchObject({
      kind: 'failed',
      failure: 'timed_out',
      detail: 'no response from DNS within 0.2 seconds',
      address: null,
    })
  })

  test('that does not respond delays neither password hashes nor other host names', async () => {
    // More lookups than libuv has threads.
    const pits = Array.from({ length: 16 }, (_, index) => `pit${index}.test`)
    const { out, dns } = await openNamed({
      ...Object.fromEntries(pits.map((name) => [name, 'silence' as const])),
      'good.test': ['127.0.0.1'],
    })
    const server = await openRaw((socket) => socket.write(ok()))
    let settled = 0
    const stuck = pits.map(async (name) => {
      await out.send(`http://${name}/`)
      settled += 1
    })
    await eventually('all ask for their name', () => dns.asked.length >= 32)
    const hashed = await Promise.all(
      Array.from({ length: 8 }, () => promisify(scrypt)('password', 'salt', 32)),
    )
    expect(hashed).toHaveLength(8)
    expect(await out.send(`http://good.test:${server.port}/`)).toMatchObject({ status: 200 })
    expect(settled).toBe(0)
    await out.close()
    await Promise.all(stuck)
  })

  test('is asked once by all requests that need the same name at one time', async () => {
    const { out, dns } = await openNamed({ 'many.test': ['127.0.0.1'] })
    const server = await openRaw((socket) => socket.write(ok()))
    const url = `http://many.test:${server.port}/`
    await Promise.all(Array.from({ length: 50 }, () => out.send(url)))
    expect([server.connections(), dns.asked.length]).toEqual([50, 2])
  })

  test('is not asked again once no request waits', async () => {
    const dns = await openDns({ 'pit.test': 'silence', 'other.test': 'silence' })
    const addresses = dnsResolver({
      clock: systemTime,
      servers: () => [dns.address],
      timeoutMs: 300,
      tries: 3,
    })
    const [one, other] = [new AbortController(), new AbortController()]
    const answers = [one, other].map(({ signal }) => addresses('pit.test', signal))
    await eventually('it is asked', () => dns.asked.length >= 2)
    for (const caller of [one, other]) caller.abort(new Error('called off'))
    for (const answer of answers) await expect(answer).rejects.toThrow('called off')
    const timesAsked = (name: string) => dns.asked.filter((asked) => asked === `A ${name}`).length
    const before = timesAsked('pit.test')
    // Advances the clock by the same time again. A repeated query would be sent now.
    const { signal } = new AbortController()
    await expect(addresses('other.test', signal)).rejects.toThrow('DNS did not respond')
    expect(timesAsked('pit.test')).toBe(before)
    expect(timesAsked('other.test')).toBeGreaterThan(before)
  })

  test('that replaces another one in the system configuration is used within a minute', async () => {
    const answered = Promise.withResolvers<string[]>()
    const [old, young] = [
      await openDns({ 'moved.test': ['127.0.0.1'], 'late.test': () => answered.promise }),
      await openDns({ 'moved.test': ['127.0.0.2'] }),
    ]
    const clock = frozenClock()
    const at = { server: old }
    const addresses = dnsResolver({
      clock,
      servers: () => [at.server.address],
      timeoutMs: 5000,
    })
    const ask = (name: string) => addresses(name, new AbortController().signal)
    const late = ask('late.test')
    await eventually('the old one is asked', () => old.asked.length >= 2)
    at.server = young
    clock.elapse(59_999)
    expect(await ask('moved.test')).toEqual(['127.0.0.1'])
    clock.elapse(1)
    expect(await ask('moved.test')).toEqual(['127.0.0.2'])
    answered.resolve(['127.0.0.3'])
    expect(await late).toEqual(['127.0.0.3'])
  })

  test('is still waited for by one request after another request was cancelled', async () => {
    const { out, dns } = await openNamed({
      'pit.test': 'silence',
      'late.test': async () => {
        await eventually('the other has given up', () => hasGivenUp)
        return ['127.0.0.1']
      },
    })
    const server = await openRaw((socket) => socket.write(ok()))
    let hasGivenUp = false
    const patient = out.send(`http://late.test:${server.port}/`)
    await eventually('it asks', () => dns.asked.length >= 2)
    expect(await out.send('http://pit.test/', { deadlineMs: 50 })).toMatchObject({ kind: 'failed' })
    hasGivenUp = true
    expect(await patient).toMatchObject({ status: 200 })
  })
})
