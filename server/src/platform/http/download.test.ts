/**
 * Tests file downloads over HTTP: whole files, byte ranges, and that the source is read only as fast as the caller
 * receives.
 */
import { get as request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import Type from 'typebox'
import { expect, onTestFinished, test, vi } from 'vitest'
import { silentLog } from '../../../test/support/server-address.ts'
import { Problem } from '../../lib/problems.ts'
import { systemTime } from '../../lib/time.ts'
import { anyone } from '../access/index.ts'
import { type Download, FileOf } from './download.ts'
import { openApiDocument } from './openapi/document.ts'
import { operation } from './operation.ts'
import { openLimits } from './rate-limit.ts'
import { addOperations } from './routes.ts'
import { openServer } from './server.ts'

const TEXT = Buffer.from('0123456789')
const CHUNK = Buffer.alloc(64 * 1024)
const PATIENCE = { timeout: 20_000 }

const noLimits = { requests: 0, guesses: 0, notifications: 0, userWrites: 0, tenantWrites: 0 }

async function open() {
  const seen = { opened: 0, chunks: 0, reading: 0, ended: Promise.withResolvers<void>() }
  async function* endless() {
    seen.reading += 1
    try {
      for (;;) {
        seen.chunks += 1
        yield CHUNK
      }
    } finally {
      seen.reading -= 1
      seen.ended.resolve()
    }
  }
  const files: Record<string, Download> = {
    known: {
      name: 'digits.txt',
      whole: { size: TEXT.length, etag: 'v1' },
      async *open(range) {
        seen.opened += 1
        yield range ? TEXT.subarray(range.start, range.end + 1) : TEXT
      },
    },
    gone: {
      name: 'gone.txt',
      whole: { size: TEXT.length, etag: 'v1' },
      // biome-ignore lint/correctness/useYield: it fails before the first byte.
      async *open() {
        throw new Problem('backup_file_gone')
      },
    },
    endless: { name: 'endless.bin', open: endless },
  }
  const op = operation({
    method: 'GET',
    path: '/files/{name}',
    id: 'getFile',
    summary: 'A file',
    description: 'A file',
    tag: 'Backups',
    access: anyone,
    params: Type.Object({ name: Type.String() }),
    success: [200, FileOf('text/plain', { ranges: true })],
    handle: ({ path }) => files[path.name] as Download,
  })
  const limits = openLimits(noLimits)
  const server = await openServer({
    trustedProxies: 0,
    corsOrigins: [],
    limits,
    log: silentLog,
    onAnswered: () => undefined,
  })
  addOperations(server, [op], {
    authenticate: () => Promise.reject(new Error('nobody signs in')),
    requireConfirmed: async () => undefined,
    refused: async () => undefined,
    requireAvailable: () => undefined,
    limits,
    publicUrl: new URL('http://127.0.0.1'),
    log: silentLog,
    clock: systemTime,
  })
  onTestFinished(() => server.close())
  const get = (name: string, headers: Record<string, string> = {}, method = 'GET') =>
    server.inject({ method: method as 'GET', url: `/files/${name}`, headers })
  return { server, get, seen, document: openApiDocument([op], { version: '1' }) }
}

test('a download contains the whole file, with its name, length and ETag', async () => {
  const { get } = await open()
  const answer = await get('known')
  expect(answer.statusCode).toBe(200)
  expect(answer.headers).toMatchObject({
    'content-type': 'text/plain',
    'content-disposition': 'attachment; filename="digits.txt"',
    'content-length': '10',
    'accept-ranges': 'bytes',
    etag: '"v1"',
  })
  expect(answer.body).toBe(String(TEXT))
})

test.each([
  ['bytes=2-5', '2345', 'bytes 2-5/10'],
  ['bytes=7-', '789', 'bytes 7-9/10'],
  ['bytes=7-99', '789', 'bytes 7-9/10'],
  ['bytes=-3', '789', 'bytes 7-9/10'],
  ['bytes=-99', '0123456789', 'bytes 0-9/10'],
  ['bytes=0-0', '0', 'bytes 0-0/10'],
])(
  'a download with the header "Range: %s" contains that range',
  async (range, text, contentRange) => {
    const { get } = await open()
    const answer = await get('known', { range })
    expect(answer.statusCode).toBe(206)
    expect(answer.headers['content-range']).toBe(contentRange)
    expect(answer.headers['content-length']).toBe(String(text.length))
    expect(answer.body).toBe(text)
  },
)

test.each(['bytes=10-', 'bytes=99-100', 'bytes=-0'])(
  'a download with the header "Range: %s" is rejected',
  async (range) => {
    const { get } = await open()
    const answer = await get('known', { range })
    expect(answer.statusCode).toBe(416)
    expect(answer.headers['content-range']).toBe('bytes */10')
    expect(answer.json()).toMatchObject({ code: 'range_not_satisfiable' })
  },
)

test.each([
  ['several parts', { range: 'bytes=0-1,3-4' }],
  ['another unit', { range: 'lines=0-1' }],
  ['a range that ends before it begins', { range: 'bytes=5-2' }],
  ['a range of an outdated ETag', { range: 'bytes=2-5', 'if-range': '"v0"' }],
])('a download contains the whole file despite this Range header: %s', async (_, headers) => {
  const { get } = await open()
  const answer = await get('known', headers)
  expect(answer.statusCode).toBe(200)
  expect(answer.body).toBe(String(TEXT))
})

test('a download contains a range as long as the file has not changed', async () => {
  const { get } = await open()
  const answer = await get('known', { range: 'bytes=2-5', 'if-range': '"v1"' })
  expect(answer.statusCode).toBe(206)
})

test('a HEAD request for a download opens no file', async () => {
  const { get, seen } = await open()
  const answer = await get('known', {}, 'HEAD')
  expect(answer.statusCode).toBe(200)
  expect(answer.headers['content-length']).toBe('10')
  expect(seen.opened).toBe(0)
})

test('a download gets an error response without file headers if the file cannot be opened', async () => {
  const { get } = await open()
  const answer = await get('gone', { range: 'bytes=2-5' })
  expect(answer.statusCode).toBe(503)
  expect(answer.json()).toMatchObject({ code: 'backup_file_gone' })
  for (const name of ['etag', 'content-range', 'content-disposition', 'accept-ranges'])
    expect(answer.headers).not.toHaveProperty(name)
})

test('a download stops reading the file if the caller disconnects before the first byte', async () => {
  const { server, get, seen } = await open()
  server.addHook('onSend', async (request) => void request.raw.destroy())
  await get('endless').catch(() => undefined)
  await seen.ended.promise
  expect(seen.chunks).toBeLessThan(5)
})

test('a queued download stops reading the file when its connection ends', async () => {
  const { server, seen } = await open()
  await server.listen({ host: '127.0.0.1', port: 0 })
  const { port } = server.server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  const asked = `GET /files/endless HTTP/1.1\r\nhost: a\r\n\r\n`
  socket.write(asked + asked)
  // The client connects but never reads.
  socket.pause()
  await vi.waitFor(() => expect(seen.reading).toBe(2), PATIENCE)
  socket.destroy()
  await vi.waitFor(() => expect(seen.reading).toBe(0), PATIENCE)
})

test('a download stops reading the file when the caller disconnects, and never reads ahead', async () => {
  const { server, seen } = await open()
  await server.listen({ host: '127.0.0.1', port: 0 })
  const { port } = server.server.address() as AddressInfo
  const sent = request(`http://127.0.0.1:${port}/files/endless`, (answer) => {
    answer.once('data', () => sent.destroy())
  })
  sent.on('error', () => undefined)
  await seen.ended.promise
  // At most the bytes that fit into the socket buffers of both sides and the stream between them.
  expect(seen.chunks * CHUNK.length).toBeLessThan(64 * 1024 * 1024)
})

test('the documentation of a download names the content type and the partial responses', async () => {
  const { document } = await open()
  const responses = (document as { paths: Record<string, { get: { responses: object } }> }).paths[
    '/files/{name}'
  ]?.get.responses as Record<string, { content: Record<string, unknown> }>
  expect(Object.keys(responses)).toEqual(expect.arrayContaining(['200', '206', '416']))
  expect(Object.keys(responses[206]?.content ?? {})).toEqual(['text/plain'])
})
