/** Tests operations that external providers call: raw bodies, headers, permitted networks and rate limits. */
import { type AddressInfo, connect } from 'node:net'
import Type from 'typebox'
import { describe, expect, test } from 'vitest'
import { serveOperations } from '../../../test/support/operations-server.ts'
import { anyone } from '../access/index.ts'
import { parseNetworks } from '../net/index.ts'
import { openApiDocument } from './openapi/document.ts'
import { operation, RawBody } from './operation.ts'

const MOST = 20 * 1024

interface Options {
  allowed?: string
  trustedProxies?: number
  limited?: boolean
}

/** Opens a server with one operation that returns its input as the response. */
async function open({ allowed, trustedProxies = 0, limited = false }: Options = {}) {
  const networks = allowed === undefined ? undefined : parseNetworks(allowed)
  const op = operation({
    method: 'POST',
    path: '/notify',
    id: 'notify',
    summary: 'Notify',
    description: 'Notify',
    tag: 'Payment notifications',
    access: anyone,
    onlyFrom: () => networks,
    headers: { 'Example-Signature': 'Signs the body', 'X-Other': 'Something else' },
    body: RawBody,
    bodyLimit: MOST,
    limit: 'notifications',
    success: [
      200,
      Type.Object({
        bytes: Type.String({ examples: ['x'] }),
        headers: Type.Any({ examples: [{}] }),
      }),
    ],
    handle: ({ body, headers }) => ({ bytes: body.toString('hex'), headers }),
  })
  const other = operation({
    ...op,
    path: '/other',
    id: 'other',
    limit: undefined as never,
    success: [200, null],
    handle: () => undefined,
  })
  const limits = limited ? { limited: { requests: 1, notifications: 3 } } : {}
  const server = await serveOperations([op, other], {}, { trustedProxies, ...limits })
  const send = async (payload: string | Buffer, headers: Record<string, string> = {}) => {
    const answer = await server.inject({ method: 'POST', url: '/notify', payload, headers })
    return { status: answer.statusCode, body: answer.json() }
  }
  return { op, server, send }
}

type Server = Awaited<ReturnType<typeof open>>['server']

/** Sends text over a new connection. Returns the start of the response. */
async function exchange(server: Server, text: string, host = '127.0.0.1'): Promise<string> {
  await server.listen({ host: host.includes(':') ? '::' : host, port: 0 })
  const { port } = server.server.address() as AddressInfo
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'))
    socket.once('error', reject)
    socket.once('data', (chunk) => {
      resolve(chunk.toString('latin1'))
      socket.destroy()
    })
  })
}

const POST = 'POST /notify HTTP/1.1\r\nHost: x\r\n'

describe('an operation that reads raw bodies', () => {
  test.each([
    ['JSON', '{"a":1.0}'],
    ['invalid JSON', '{'],
    ['invalid UTF-8', Buffer.from([0xff, 0x00, 0xfe])],
    ['a byte order mark', '\ufeff{}'],
    ['20 KiB', Buffer.alloc(MOST, 'x')],
  ])('receives the bytes of the body unchanged: %s', async (_what, payload) => {
    const { send } = await open()
    const { status, body } = await send(payload)
    expect([status, body.bytes]).toEqual([200, Buffer.from(payload).toString('hex')])
  })

  test.each(['text/plain', 'application/json; charset=latin1', 'garbage', '/;;=', 'a/b;c="'])(
    'accepts the content type "%s"',
    async (type) => {
      const { send } = await open()
      expect(await send('{"a":1}', { 'content-type': type })).toMatchObject({
        status: 200,
        body: { bytes: Buffer.from('{"a":1}').toString('hex') },
      })
    },
  )

  test('receives no bytes if the body is missing', async () => {
    const { send } = await open()
    expect(await send('')).toMatchObject({ status: 200, body: { bytes: '' } })
  })

  test('rejects a body above the limit with 413, even if the body arrives in chunks', async () => {
    const { server, send } = await open()
    const refused = {
      code: 'body_too_large',
      detail: 'The request body is larger than 20 KiB. Send a smaller one.',
    }
    expect(await send(Buffer.alloc(MOST + 1))).toEqual({ status: 413, body: refused })
    const chunk = `${MOST.toString(16)}\r\n${'x'.repeat(MOST)}\r\n`
    const answer = await exchange(
      server,
      `${POST}Transfer-Encoding: chunked\r\n\r\n${chunk}1\r\nx\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
    expect(answer).toContain(JSON.stringify(refused.code))
  })
})

describe('an operation that reads request headers', () => {
  test('receives a header as text, and a missing header as an empty list', async () => {
    const { send } = await open()
    const { body } = await send('{}', { 'example-signature': 't=1,v1=ab', 'x-unasked': 'x' })
    expect(body.headers).toEqual({ 'Example-Signature': ['t=1,v1=ab'], 'X-Other': [] })
  })

  test('distinguishes a repeated header from a single header that contains a comma', async () => {
    const { server } = await open()
    const twice = 'Example-Signature: a, b\r\nexample-signature: c\r\nX-Other:\r\n'
    const answer = await exchange(server, `${POST}${twice}Content-Length: 2\r\n\r\n{}`)
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '').headers).toEqual({
      'Example-Signature': ['a, b', 'c'],
      'X-Other': [''],
    })
  })
})

describe('an operation that permits certain networks', () => {
  const refused = { status: 403, body: { code: 'sender_not_allowed' } }

  test('rejects a sender outside these networks before any byte of the body arrives', async () => {
    const { server } = await open({ allowed: '192.0.2.0/24' })
    expect(await exchange(server, `${POST}Content-Length: 1000\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 403 /,
    )
  })

  test('rejects a sender outside these networks before the size of the body is checked', async () => {
    const { send } = await open({ allowed: '192.0.2.0/24' })
    expect(await send(Buffer.alloc(MOST + 1))).toMatchObject(refused)
  })

  test('rejects a sender outside these networks, with any X-Forwarded-For', async () => {
    const none = await open({ allowed: '192.0.2.0/24' })
    const forged = { 'x-forwarded-for': '192.0.2.7' }
    expect(await none.send('{}', forged)).toMatchObject(refused)
    const one = await open({ allowed: '192.0.2.0/24', trustedProxies: 1 })
    const first = { 'x-forwarded-for': '192.0.2.7, 203.0.113.9' }
    expect(await one.send('{}', first)).toMatchObject(refused)
    for (const seen of ['192.0.2.7', '192.0.2.7:51344'])
      expect(await one.send('{}', { 'x-forwarded-for': `203.0.113.9, ${seen}` })).toMatchObject({
        status: 200,
      })
  })

  test('accepts an IPv4 sender whose address the socket writes as IPv6', async () => {
    const { server } = await open({ allowed: '127.0.0.0/8' })
    const answer = await exchange(server, `${POST}Content-Length: 2\r\n\r\n{}`, '::')
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  })
})

test('an operation without a list of permitted networks accepts all senders', async () => {
  const { send } = await open()
  expect(await send('{}')).toMatchObject({ status: 200 })
})

test('an operation with its own rate limit is not subject to the limit for all requests', async () => {
  const { server, send } = await open({ limited: true })
  const statuses: number[] = []
  for (let calls = 0; calls < 4; calls += 1) statuses.push((await send('{}')).status)
  expect(statuses).toEqual([200, 200, 200, 429])
  expect((await server.inject({ method: 'POST', url: '/other' })).statusCode).toBe(200)
})

test('an operation that reads raw bodies documents its input, and may answer 422', async () => {
  const { op } = await open()
  const document: any = openApiDocument([op], { version: '1' })
  const described = document.paths['/notify'].post
  expect(described.parameters).toEqual([
    {
      name: 'Example-Signature',
      in: 'header',
      required: false,
      description: 'Signs the body',
      schema: { type: 'string' },
    },
    expect.objectContaining({ name: 'X-Other', in: 'header' }),
  ])
  expect(Object.keys(described.requestBody.content)).toEqual(['*/*'])
  expect(described['x-body-limit']).toBe(MOST)
  expect(described.responses).toHaveProperty('403')
  expect(described.responses).not.toHaveProperty('422')
  const own: any = openApiDocument([{ ...op, refusesInput: true }], { version: '1' })
  expect(own.paths['/notify'].post.responses).toHaveProperty('422')
})
