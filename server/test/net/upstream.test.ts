/**
 * Requests to a service whose URL the operator configures. They may go to any address, but only to paths below that URL
 * and within one deadline.
 */
import { Api, GrammyError, HttpError } from 'grammy'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  openUpstream,
  parseUpstreamUrl,
  type Upstream,
  upstreamFetch,
} from '../../src/platform/net/index.ts'
import { systemResolver } from '../../src/platform/net/resolver.ts'
import { UpstreamError } from '../../src/platform/net/upstream-fetch.ts'
import { openReceiver, type Reply } from '../support/receiver.ts'
import { refusedPort } from '../support/refused-port.ts'
import { eventually, ok, openRaw } from './scene.ts'

const SECRET = 'c2hvcDpzZWNyZXQ'
const MIB = 1024 * 1024

/** Opens an upstream server that gives this answer. */
async function open(answer: (path: string) => Reply = () => ({ status: 200, body: '{}' })) {
  const receiver = await openReceiver({ answer: ({ path }) => answer(path) })
  const base = parseUpstreamUrl(`${receiver.url}/`)
  const upstream = openUpstream({ url: base })
  onTestFinished(() => upstream.close())
  const headers = { authorization: `Basic ${SECRET}` }
  const get = (url: string, other: Partial<Parameters<Upstream['send']>[0]> = {}) =>
    upstream.send({ method: 'GET', url, headers, deadlineMs: 10_000, ...other })
  return { receiver, base, upstream, get }
}

describe('a request to an upstream service', () => {
  test('can go to a private address without TLS, with GET or POST', async () => {
    const { receiver, base, get } = await open()
    expect(await get(`${base}/payments/1?a=b`)).toMatchObject({
      kind: 'answered',
      status: 200,
      body: '{}',
    })
    await get(`${base}/send`, { method: 'POST', body: '{"a":1}' })
    expect(receiver.received).toMatchObject([
      { path: '/hook/payments/1?a=b', body: '', headers: { authorization: `Basic ${SECRET}` } },
      { path: '/hook/send', body: '{"a":1}' },
    ])
  })

  test('never follows a redirect, so that its credentials are not sent elsewhere', async () => {
    const other = await openReceiver()
    for (const status of [301, 302, 303, 307, 308]) {
      const { base, get } = await open(() => ({ status, headers: { location: other.url } }))
      expect(await get(`${base}/payments/1`)).toMatchObject({ kind: 'answered', status })
    }
    expect(other.received).toEqual([])
  })

  test('is not sent if its path would lead outside the upstream URL', async () => {
    const { receiver, base, get } = await open()
    const { host } = new URL(base)
    const elsewhere = await openReceiver()
    for (const url of [
      `${elsewhere.url}/payments/1`,
      `${base}/../admin`,
      `${base}/%2e%2e/admin`,
      `${base}\\..\\admin`,
      `${base}s/payments/1`,
      base,
      `http://user:password@${host}/hook/payments/1`,
      `https://${host}/hook/payments/1`,
      `//${host}/hook/payments/1`,
      '/payments/1',
      '',
    ])
      expect([url, await get(url)]).toMatchObject([
        url,
        { kind: 'failed', failure: 'address_forbidden' },
      ])
    expect([...receiver.received, ...elsewhere.received]).toEqual([])
  })
})

describe('a streamed transfer', () => {
  test('carries bytes unchanged, with any method, and returns the response headers', async () => {
    const bytes = Buffer.from([0, 255, 128, 10, 0])
    const { receiver, base, upstream } = await open(() => ({
      status: 206,
      headers: { etag: '"x"' },
      body: bytes,
    }))
    for (const method of ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'] as const) {
      const request = { method, url: `${base}/x`, headers: {}, deadlineMs: 10_000, maxBytes: 5 }
      const body = method === 'PUT' || method === 'POST' ? { body: bytes } : {}
      expect(await upstream.transfer({ ...request, ...body })).toMatchObject({
        kind: 'answered',
        status: 206,
        fields: { etag: '"x"' },
        body: method === 'HEAD' ? Buffer.alloc(0) : bytes,
      })
    }
    const lengths = receiver.received.map(({ headers }) => headers['content-length'] ?? '0')
    expect(lengths).toEqual(['0', '0', '5', '5', '0'])
  })

  test('fails if it contains more bytes than requested', async () => {
    const { base, upstream } = await open(() => ({ status: 200, body: 'x'.repeat(6) }))
    const request = { url: `${base}/x`, headers: {}, deadlineMs: 10_000, maxBytes: 5 }
    expect(await upstream.transfer({ method: 'GET', ...request })).toMatchObject({
      kind: 'failed',
      failure: 'answer_invalid',
    })
  })

  test.each([
    ['PUT', 3],
    ['POST', 2],
  ] as const)(
    'with the method %s is sent %i times if the server closes an idle connection',
    async (method, times) => {
      const server = await openRaw((socket, { ofConnection }) =>
        ofConnection === 0 ? socket.write(ok()) : socket.destroy(),
      )
      const upstream = openUpstream({ url: server.url })
      onTestFinished(() => upstream.close())
      const request = { url: `${server.url}/x`, headers: {}, deadlineMs: 10_000, maxBytes: 5 }
      for (let round = 0; round < 2; round += 1)
        expect(
          await upstream.transfer({ method, ...request, body: Buffer.from('{}') }),
        ).toMatchObject({ kind: 'answered', status: 200 })
      expect([server.connections(), server.requests()]).toEqual([2, times])
    },
  )
})

describe('a connection that its server closes when the second request arrives', () => {
  /** Opens a server that answers one request per connection and then closes the connection without notice. */
  async function openClosing() {
    const server = await openRaw((socket, { ofConnection }) =>
      ofConnection === 0 ? socket.write(ok()) : socket.destroy(),
    )
    const upstream = openUpstream({ url: server.url })
    onTestFinished(() => upstream.close())
    const request = { url: `${server.url}/x`, headers: {}, deadlineMs: 10_000 }
    const get = () => upstream.send({ method: 'GET', ...request })
    const post = () => upstream.send({ method: 'POST', ...request, body: '{}' })
    return { server, get, post }
  }

  test('is replaced for a GET request, because GET can be repeated', async () => {
    const { server, get } = await openClosing()
    for (let round = 0; round < 2; round += 1)
      expect(await get()).toMatchObject({ kind: 'answered', status: 200 })
    expect([server.connections(), server.requests()]).toEqual([2, 3])
  })

  test('is not used for a POST request, which has a connection of its own and is sent once', async () => {
    const { server, get, post } = await openClosing()
    await get()
    for (let round = 0; round < 2; round += 1)
      expect(await post()).toMatchObject({ kind: 'answered', status: 200 })
    expect([server.connections(), server.requests()]).toEqual([3, 3])
    await eventually('what the POSTs used is closed', () => server.open() === 1)
  })

  test('makes a POST request on a new connection fail, and nothing is repeated', async () => {
    const server = await openRaw((socket) => socket.destroy())
    const upstream = openUpstream({ url: server.url })
    onTestFinished(() => upstream.close())
    const request = { url: `${server.url}/x`, headers: {}, body: '{}', deadlineMs: 10_000 }
    expect(await upstream.send({ method: 'POST', ...request })).toMatchObject({
      failure: 'connection_lost',
    })
    expect(server.requests()).toBe(1)
  })
})

describe('a response of an upstream service', () => {
  test('is read completely if it has 1 MiB, and rejected if it has one byte more', async () => {
    const { base, get } = await open((path) => ({
      status: 200,
      body: 'x'.repeat(path.endsWith('more') ? MIB + 1 : MIB),
    }))
    const whole = await get(`${base}/most`)
    expect(whole.kind === 'answered' && whole.body.length).toBe(MIB)
    expect(await get(`${base}/more`)).toMatchObject({
      kind: 'failed',
      failure: 'answer_invalid',
      detail: 'the response is larger than 1024 KiB',
    })
    expect(await get(`${base}/most`)).toMatchObject({ kind: 'answered' })
  })

  test('is cut off if it never ends, and its connection is closed', async () => {
    async function* endless() {
      for (;;) yield Buffer.alloc(MIB)
    }
    const { receiver, base, get } = await open(() => ({ status: 200, body: endless() }))
    expect(await get(`${base}/x`)).toMatchObject({ failure: 'answer_invalid' })
    await eventually('the connection is gone', () => receiver.open() === 0)
  })

  test.each<[string, Reply]>([
    ['never arrives', 'stall'],
    ['never ends', { status: 200, body: trickle() }],
  ])('is awaited only until the deadline if it %s', async (_what, reply) => {
    const { base, get } = await open(() => reply)
    expect(await get(`${base}/x`, { deadlineMs: 150 })).toMatchObject({
      kind: 'failed',
      failure: 'timed_out',
    })
  })
})

/** Sends a byte at intervals, forever. */
async function* trickle() {
  for (;;) {
    yield ' '
    await new Promise((go) => setTimeout(go, 20))
  }
}

describe('a failed upstream request', () => {
  test('reveals nothing of the path, the query or the headers', async () => {
    const { base, get } = await open((path) => (path.includes('stall') ? 'stall' : 'reset'))
    const { port } = await refusedPort()
    const refused = openUpstream({ url: `http://127.0.0.1:${port}` })
    onTestFinished(() => refused.close())
    const lost = { method: 'GET', headers: {}, deadlineMs: 10_000 } as const
    const failures = [
      await get(`${base}/${SECRET}/stall?${SECRET}`, { deadlineMs: 100 }),
      await get(`${base}/${SECRET}/reset?${SECRET}`),
      await get(`${base}/${SECRET}`, { headers: { 'x-bad': `${SECRET}\r\n` } }),
      await get(`http://elsewhere.test/${SECRET}`),
      await refused.send({ ...lost, url: `http://127.0.0.1:${port}/${SECRET}` }),
    ]
    for (const failure of failures) {
      expect(failure.kind).toBe('failed')
      expect(JSON.stringify(failure)).not.toContain(SECRET)
    }
  })

  test('is returned for every request after the client was closed', async () => {
    const { base, get, upstream } = await open()
    await upstream.close()
    expect(await get(`${base}/x`)).toMatchObject({ kind: 'failed', failure: 'aborted' })
  })
})

describe('the URL of an upstream service', () => {
  test.each([
    ['https://api.example.org', 'https://api.example.org'],
    ['https://api.example.org/v3/', 'https://api.example.org/v3'],
    ['http://10.0.0.7:8081', 'http://10.0.0.7:8081'],
    ['http://localhost:8081//', 'http://localhost:8081'],
    ['HTTP://[::1]:80/a', 'http://[::1]/a'],
  ])('%s is parsed as %s', (text, url) => {
    expect(parseUpstreamUrl(text)).toBe(url)
  })

  test.each([
    ['api.example.org', 'must be a URL such as https://api.example.org/v1'],
    ['ftp://api.example.org', 'must be https or http'],
    ['https://user:word@api.example.org', 'must not contain a user name or password'],
    ['https://api.example.org/v1?key=1', 'must be a URL without a query string'],
    ['https://api.example.org/v1#top', 'must be a URL without a query string'],
    ['http://[fe80::1%25eth0]/', 'must be a URL such as https://api.example.org/v1'],
  ])('%s is refused', (text, message) => {
    expect(() => parseUpstreamUrl(text)).toThrow(new Error(message))
  })
})

describe('a host name chosen by the operator', () => {
  const signal = new AbortController().signal

  test('is resolved by the system, once for all waiting requests', async () => {
    const asked: string[] = []
    let answer: (found: { address: string }[]) => void = () => undefined
    const resolve = systemResolver((hostname) => {
      asked.push(hostname)
      return new Promise((go) => {
        answer = go
      })
    })
    const leaving = new AbortController()
    const all = [resolve('api', signal), resolve('api', signal)]
    const left = resolve('api', leaving.signal)
    leaving.abort(new Error('left'))
    await expect(left).rejects.toThrow('left')
    answer([{ address: '10.0.0.7' }, { address: '::1' }])
    expect(await Promise.all(all)).toEqual(Array(2).fill(['10.0.0.7', '::1']))
    expect(asked).toEqual(['api'])
    void resolve('api', signal)
    expect(asked).toEqual(['api', 'api'])
  })

  test.each([
    ['ENOTFOUND', 'the host name does not exist'],
    ['EAI_AGAIN', 'the host name cannot be resolved (EAI_AGAIN)'],
  ])('that is not found (%s) makes the request fail with a reason', async (code, message) => {
    const resolve = systemResolver(() => Promise.reject(Object.assign(new Error(), { code })))
    await expect(resolve('api', signal)).rejects.toMatchObject({
      failure: 'name_not_resolved',
      message,
    })
  })
})

describe('the HTTP client that a chat library uses as fetch', () => {
  const TOKEN = '12345:token-of-the-bot'

  async function openApi(answer: (path: string) => Reply, deadlineMs = 10_000) {
    const { receiver, base, upstream } = await open(answer)
    const fetch = upstreamFetch(upstream, deadlineMs) as never
    return { receiver, api: new Api(TOKEN, { apiRoot: base, fetch }) }
  }

  test('sends a method of the bot API and reads its result', async () => {
    const result = { message_id: 7 }
    const { receiver, api } = await openApi(() => ({
      status: 200,
      body: JSON.stringify({ ok: true, result }),
    }))
    expect(await api.sendMessage(42, 'hello')).toEqual(result)
    const [sent] = receiver.received
    expect(sent?.path).toBe(`/hook/bot${TOKEN}/sendMessage`)
    expect(JSON.parse(sent?.body ?? '')).toEqual({ chat_id: 42, text: 'hello' })
  })

  test('reports a refusal in the way that the library expects', async () => {
    const { api } = await openApi(() => ({
      status: 429,
      body: JSON.stringify({
        ok: false,
        error_code: 429,
        description: 'wait',
        parameters: { retry_after: 9 },
      }),
    }))
    const refused = await api.getMe().catch((error) => error)
    expect(refused).toBeInstanceOf(GrammyError)
    expect(refused.parameters).toEqual({ retry_after: 9 })
  })

  test.each<[string, Reply]>([
    ['resets', 'reset'],
    ['stalls', 'stall'],
    ['answers HTML', { status: 502, body: '<html>' }],
    ['redirects', { status: 302, headers: { location: 'http://127.0.0.1:9/' } }],
  ])('keeps the token out of errors if the service %s', async (_what, reply) => {
    const { api } = await openApi(() => reply, 150)
    const failed = await api.getMe().catch((error) => error)
    expect(failed).toBeInstanceOf(HttpError)
    const told = [failed.message, failed.stack, failed.error?.message, failed.error?.stack]
    expect(told.join()).not.toContain('token-of-the-bot')
  })

  test.each([600, 999])('fails for a response with the status %i', async (status) => {
    const server = await openRaw((socket) => socket.write(ok().replace('200', String(status))))
    const upstream = openUpstream({ url: server.url })
    onTestFinished(() => upstream.close())
    const asked = upstreamFetch(upstream, 10_000)(`${server.url}/x`, { method: 'POST', body: '{}' })
    await expect(asked).rejects.toThrow(new UpstreamError('the response is not HTTP'))
  })

  test('stops when the library cancels the request', async () => {
    const { receiver, api } = await openApi(() => 'stall')
    const calling = new AbortController()
    const polling = api.getUpdates({ timeout: 30 }, calling.signal as never)
    await eventually('the request is there', () => receiver.received.length === 1)
    calling.abort()
    await expect(polling).rejects.toBeInstanceOf(HttpError)
    await eventually('its connection is gone', () => receiver.open() === 0)
  })
})
