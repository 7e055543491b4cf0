/** The client reads responses of servers only as far as needed. The responses may contain anything. */
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { openReceiver, type Reply } from '../support/receiver.ts'
import { eventually, ok, openRaw, openWayOut } from './scene.ts'

const answered = (status: number, body: string) => ({ kind: 'answered', status, body })
const failed = (failure: string, detail: string) => ({ kind: 'failed', failure, detail })

async function receive(reply: Reply, keepBytes = 1024) {
  const receiver = await openReceiver({ answer: () => reply })
  return openWayOut().send(receiver.url, { keepBytes })
}

/** Sends these bytes in response to every request. */
async function speak(bytes: string | Buffer, isLast = false) {
  const server = await openRaw((socket) => (isLast ? socket.end(bytes) : socket.write(bytes)))
  const out = openWayOut()
  return { server, out, exchange: await out.send(server.url) }
}

describe('an outgoing request', () => {
  test('arrives unchanged, and asks for an uncompressed response', async () => {
    const receiver = await openReceiver()
    const headers = { 'content-type': 'application/json', 'webhook-id': 'msg_1' }
    const body = '{"name":"Zoë"}'
    const url = `${receiver.url}/a%20b?c=d%2Fe`
    const exchange = await openWayOut().send(url, { headers, body: Buffer.from(body) })
    expect(exchange).toEqual({
      ...answered(200, ''),
      retryAfter: undefined,
      address: '127.0.0.1',
      durationMs: expect.any(Number),
    })
    const [received] = receiver.received
    expect(received).toMatchObject({ path: '/hook/a%20b?c=d%2Fe', body })
    expect(received?.headers).toEqual({
      ...headers,
      'accept-encoding': 'identity',
      connection: 'keep-alive',
      'content-length': '15',
      host: new URL(receiver.url).host,
    })
  })

  test('fails if it cannot be sent, and leaves no connection open', async () => {
    const receiver = await openReceiver()
    const out = openWayOut()
    expect(await out.send(receiver.url, { headers: { 'x-bad': 'a\r\nb: c' } })).toMatchObject(
      failed('connection_failed', 'the request could not be sent: invalid x-bad header'),
    )
    expect(await out.send(receiver.url)).toMatchObject(answered(200, ''))
    expect(receiver.received).toHaveLength(1)
  })
})

describe('a response to an outgoing request', () => {
  test.each([200, 204, 304, 400, 404, 410, 429, 500, 599])(
    'is returned with the status %i',
    async (status) => {
      expect(await receive({ status })).toMatchObject(answered(status, ''))
    },
  )

  test('is returned with Retry-After unchanged', async () => {
    const one = await receive({ status: 503, headers: { 'retry-after': '120' } })
    expect(one).toMatchObject({ status: 503, retryAfter: '120' })
    const two = await speak(ok('', 'Retry-After: 1', 'Retry-After: 2'))
    expect(two.exchange).toMatchObject({ status: 200, retryAfter: undefined })
  })

  test('is returned with the start of its body', async () => {
    expect(await receive({ status: 200, body: 'x'.repeat(2000) })).toMatchObject(
      answered(200, 'x'.repeat(1024)),
    )
    expect(await receive({ status: 200, body: 'body' }, 0)).toMatchObject(answered(200, ''))
  })

  test('never ends within a multi-byte character', async () => {
    const body = `${'x'.repeat(1023)}ä and more`
    expect(await receive({ status: 200, body })).toMatchObject(answered(200, 'x'.repeat(1023)))
  })

  test('can contain a character that arrived in two pieces', async () => {
    async function* pieces() {
      yield Buffer.from([0xe2, 0x82])
      yield Buffer.from([0xac])
    }
    expect(await receive({ status: 200, body: pieces() })).toMatchObject(answered(200, '€'))
  })

  test('has bytes replaced that are not text or that PostgreSQL refuses', async () => {
    const body = Buffer.from([0x61, 0x00, 0x62, 0xff, 0x63])
    expect(await receive({ status: 200, body })).toMatchObject(answered(200, 'a\uFFFDb\uFFFDc'))
  })

  test('is not decompressed if the compression was not requested', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000))
    const exchange = await receive({
      status: 200,
      headers: { 'content-encoding': 'gzip' },
      body: bomb,
    })
    expect(exchange).toMatchObject({ status: 200 })
    expect('body' in exchange && exchange.body.length).toBeLessThanOrEqual(1024)
  })

  test('cannot set cookies for later requests', async () => {
    const receiver = await openReceiver({
      answer: () => ({ status: 200, headers: { 'set-cookie': 'a=b' } }),
    })
    const out = openWayOut()
    await out.send(receiver.url)
    await out.send(receiver.url)
    expect(receiver.received[1]?.headers).not.toHaveProperty('cookie')
  })

  test('may end when the server closes the connection', async () => {
    const { exchange } = await speak('HTTP/1.0 200 OK\r\n\r\nto the end', true)
    expect(exchange).toMatchObject(answered(200, 'to the end'))
  })

  test.each(['102 Processing', '103 Early Hints'])(
    'may follow an interim response: %s',
    async (line) => {
      const { exchange } = await speak(`HTTP/1.1 ${line}\r\nretry-after: 9\r\n\r\n${ok('then')}`)
      expect(exchange).toMatchObject({ ...answered(200, 'then'), retryAfter: undefined })
    },
  )
})

describe('an endless response body', () => {
  test('is read up to a limit, and returned like any other', async () => {
    const server = await openRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      const more = () => {
        while (socket.writable && socket.write('x'.repeat(16_384)));
      }
      socket.on('drain', more)
      more()
    })
    const exchange = await openWayOut().send(server.url)
    expect(exchange).toMatchObject(answered(200, 'x'.repeat(1024)))
    await eventually('0 are open', () => server.open() === 0)
  })

  test('causes its connection to be closed, unlike a body that is long but ends', async () => {
    const long = ok('x'.repeat(60_000))
    const server = await openRaw((socket) => socket.write(long))
    const out = openWayOut()
    for (let round = 0; round < 3; round += 1)
      expect(await out.send(server.url)).toMatchObject({ status: 200 })
    expect(server.connections()).toBe(1)
  })

  test('makes the next request use another connection', async () => {
    const tooLong = ok('x'.repeat(70_000))
    const server = await openRaw((socket) => socket.write(tooLong))
    const out = openWayOut()
    for (let round = 0; round < 3; round += 1)
      expect(await out.send(server.url)).toMatchObject({ status: 200 })
    expect(server.connections()).toBe(3)
  })
})

describe('a malformed response', () => {
  const invalid = failed('answer_invalid', 'the response is not HTTP/1.1')

  test.each([
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['a page without headers', '<html></html>\r\n\r\n'],
    ['an invalid status', 'HTTP/1.1 abc OK\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'],
    [
      'a length and chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\na',
    ],
    ['a negative length', 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n'],
    ['broken chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n'],
    ['a field without a name', 'HTTP/1.1 200 OK\r\n: x\r\n\r\n'],
    [
      'a switch to another protocol',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    ],
  ])('is reported as invalid if it contains %s', async (_what, bytes) => {
    const { exchange } = await speak(bytes)
    expect(exchange).toMatchObject({ ...invalid, address: '127.0.0.1' })
  })

  test('is reported as invalid if its header is too large', async () => {
    const { exchange } = await speak(ok('', `x-long: ${'x'.repeat(17_000)}`))
    expect(exchange).toMatchObject(failed('answer_invalid', 'the response headers are too large'))
  })

  test('is reported as invalid if its header has no end', async () => {
    const server = await openRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const more = () => {
        while (socket.writable && socket.write(`x-more: ${'x'.repeat(100)}\r\n`));
      }
      socket.on('drain', more)
      more()
    })
    expect(await openWayOut().send(server.url)).toMatchObject(
      failed('answer_invalid', 'the response headers are too large'),
    )
  })

  test.each([
    ['nothing', ''],
    ['half a header', 'HTTP/1.1 200 OK\r\ncontent-le'],
    ['half a body', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'],
    [
      'half a body on a connection that is to be closed',
      'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 10\r\n\r\nabc',
    ],
    ['half a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab'],
    ['an interim response only', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  ])('is reported as a lost connection if it ends after %s', async (_what, bytes) => {
    const { exchange, server } = await speak(bytes, true)
    expect(exchange).toMatchObject({
      kind: 'failed',
      failure: 'connection_lost',
      detail:
        bytes === ''
          ? 'the connection closed without a response'
          : 'the connection closed before the response was complete',
      address: '127.0.0.1',
    })
    expect(server.connections()).toBe(1)
  })

  test('does not affect later responses', async () => {
    const { out } = await speak('nonsense\r\n\r\n')
    const receiver = await openReceiver()
    expect(await out.send(receiver.url)).toMatchObject(answered(200, ''))
  })
})

test('if a server sends two responses to one request, the client uses the first one', async () => {
  const server = await openRaw((socket, { index }) =>
    socket.write(index === 0 ? ok('first') + ok('smuggled') : ok('second')),
  )
  const out = openWayOut()
  expect(await out.send(server.url)).toMatchObject(answered(200, 'first'))
  expect(await out.send(server.url)).toMatchObject(answered(200, 'second'))
  expect(server.connections()).toBe(2)
})
