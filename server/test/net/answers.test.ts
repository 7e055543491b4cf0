/** What comes back is read as far as it matters, whatever a server sends. */
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

/** Sends these bytes in answer to every request. */
async function speak(bytes: string | Buffer, isLast = false) {
  const server = await openRaw((socket) => (isLast ? socket.end(bytes) : socket.write(bytes)))
  const out = openWayOut()
  return { server, out, exchange: await out.send(server.url) }
}

describe('a request', () => {
  test('arrives as it was given, and asks for a plain answer', async () => {
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

  test('that cannot be sent is a failure, and leaves nothing open', async () => {
    const receiver = await openReceiver()
    const out = openWayOut()
    expect(await out.send(receiver.url, { headers: { 'x-bad': 'a\r\nb: c' } })).toMatchObject(
      failed('connection_failed', 'the request cannot be sent: invalid x-bad header'),
    )
    expect(await out.send(receiver.url)).toMatchObject(answered(200, ''))
    expect(receiver.received).toHaveLength(1)
  })
})

describe('of an answer', () => {
  test.each([200, 204, 304, 400, 404, 410, 429, 500, 599])(
    'the status %i is told',
    async (status) => {
      expect(await receive({ status })).toMatchObject(answered(status, ''))
    },
  )

  test('Retry-After is told as it came', async () => {
    const one = await receive({ status: 503, headers: { 'retry-after': '120' } })
    expect(one).toMatchObject({ status: 503, retryAfter: '120' })
    const two = await speak(ok('', 'Retry-After: 1', 'Retry-After: 2'))
    expect(two.exchange).toMatchObject({ status: 200, retryAfter: undefined })
  })

  test('the beginning of the body is kept', async () => {
    expect(await receive({ status: 200, body: 'x'.repeat(2000) })).toMatchObject(
      answered(200, 'x'.repeat(1024)),
    )
    expect(await receive({ status: 200, body: 'body' }, 0)).toMatchObject(answered(200, ''))
  })

  test('no half of a character is kept', async () => {
    const body = `${'x'.repeat(1023)}ä and more`
    expect(await receive({ status: 200, body })).toMatchObject(answered(200, 'x'.repeat(1023)))
  })

  test('a character that came in two pieces is kept', async () => {
    async function* pieces() {
      yield Buffer.from([0xe2, 0x82])
      yield Buffer.from([0xac])
    }
    expect(await receive({ status: 200, body: pieces() })).toMatchObject(answered(200, '€'))
  })

  test('what is no text, or would be refused by the database, is replaced', async () => {
    const body = Buffer.from([0x61, 0x00, 0x62, 0xff, 0x63])
    expect(await receive({ status: 200, body })).toMatchObject(answered(200, 'a\uFFFDb\uFFFDc'))
  })

  test('a body that is packed all the same is not unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000))
    const exchange = await receive({
      status: 200,
      headers: { 'content-encoding': 'gzip' },
      body: bomb,
    })
    expect(exchange).toMatchObject({ status: 200 })
    expect('body' in exchange && exchange.body.length).toBeLessThanOrEqual(1024)
  })

  test('a cookie is not kept', async () => {
    const receiver = await openReceiver({
      answer: () => ({ status: 200, headers: { 'set-cookie': 'a=b' } }),
    })
    const out = openWayOut()
    await out.send(receiver.url)
    await out.send(receiver.url)
    expect(receiver.received[1]?.headers).not.toHaveProperty('cookie')
  })

  test('the end may be that of the connection', async () => {
    const { exchange } = await speak('HTTP/1.0 200 OK\r\n\r\nto the end', true)
    expect(exchange).toMatchObject(answered(200, 'to the end'))
  })

  test.each(['102 Processing', '103 Early Hints'])(
    'an announcement is passed over: %s',
    async (line) => {
      const { exchange } = await speak(`HTTP/1.1 ${line}\r\nretry-after: 9\r\n\r\n${ok('then')}`)
      expect(exchange).toMatchObject({ ...answered(200, 'then'), retryAfter: undefined })
    },
  )
})

describe('a body without an end', () => {
  test('is read up to a bound, and is an answer', async () => {
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

  test('is told from a long one, whose connection is used again', async () => {
    const long = ok('x'.repeat(60_000))
    const server = await openRaw((socket) => socket.write(long))
    const out = openWayOut()
    for (let round = 0; round < 3; round += 1)
      expect(await out.send(server.url)).toMatchObject({ status: 200 })
    expect(server.connections()).toBe(1)
  })

  test('ends the connection, and the next request gets another', async () => {
    const tooLong = ok('x'.repeat(70_000))
    const server = await openRaw((socket) => socket.write(tooLong))
    const out = openWayOut()
    for (let round = 0; round < 3; round += 1)
      expect(await out.send(server.url)).toMatchObject({ status: 200 })
    expect(server.connections()).toBe(3)
  })
})

describe('an answer that is none', () => {
  const invalid = failed('answer_invalid', 'the answer is not HTTP/1.1')

  test.each([
    ['no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['a page alone', '<html></html>\r\n\r\n'],
    ['another protocol', 'HTTP/1.1 abc OK\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'],
    [
      'a length and chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\na',
    ],
    ['a length that is none', 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n'],
    ['broken chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n'],
    ['a field without a name', 'HTTP/1.1 200 OK\r\n: x\r\n\r\n'],
    [
      'another protocol to go on with',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    ],
  ])('is invalid: %s', async (_what, bytes) => {
    const { exchange } = await speak(bytes)
    expect(exchange).toMatchObject({ ...invalid, address: '127.0.0.1' })
  })

  test('is invalid where its header is too large', async () => {
    const { exchange } = await speak(ok('', `x-long: ${'x'.repeat(17_000)}`))
    expect(exchange).toMatchObject(
      failed('answer_invalid', 'the header of the answer is too large'),
    )
  })

  test('is invalid where its header has no end', async () => {
    const server = await openRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const more = () => {
        while (socket.writable && socket.write(`x-more: ${'x'.repeat(100)}\r\n`));
      }
      socket.on('drain', more)
      more()
    })
    expect(await openWayOut().send(server.url)).toMatchObject(
      failed('answer_invalid', 'the header of the answer is too large'),
    )
  })

  test.each([
    ['nothing', ''],
    ['half a header', 'HTTP/1.1 200 OK\r\ncontent-le'],
    ['half a body', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'],
    [
      'half a body of the last answer',
      'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 10\r\n\r\nabc',
    ],
    ['half a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab'],
    ['an announcement alone', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  ])('is a lost connection where it breaks off after %s', async (_what, bytes) => {
    const { exchange, server } = await speak(bytes, true)
    expect(exchange).toMatchObject({
      kind: 'failed',
      failure: 'connection_lost',
      detail:
        bytes === ''
          ? 'the connection ended without an answer'
          : 'the connection ended before the answer was complete',
      address: '127.0.0.1',
    })
    expect(server.connections()).toBe(1)
  })

  test('hurts no answer that comes after it', async () => {
    const { out } = await speak('nonsense\r\n\r\n')
    const receiver = await openReceiver()
    expect(await out.send(receiver.url)).toMatchObject(answered(200, ''))
  })
})

test('two answers to one request are one, and the second is nobody’s', async () => {
  const server = await openRaw((socket, { index }) =>
    socket.write(index === 0 ? ok('first') + ok('smuggled') : ok('second')),
  )
  const out = openWayOut()
  expect(await out.send(server.url)).toMatchObject(answered(200, 'first'))
  expect(await out.send(server.url)).toMatchObject(answered(200, 'second'))
  expect(server.connections()).toBe(2)
})
