/** The service never reads an ambiguous request as two requests, and never resolves it to another path. */

import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { beforeAll, describe, expect, test } from 'vitest'
import { madeUpConsole } from '../support/fake-console.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let port: number

beforeAll(async () => {
  service = await openService({ consoleFolder: await madeUpConsole() })
  await service.app.server.listen({ host: '127.0.0.1', port: 0 })
  port = (service.app.server.server.address() as AddressInfo).port
})

/** Sends bytes on a new connection. Returns everything received until the server closed it. */
function exchange(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'))
    socket.setEncoding('latin1').on('data', (part) => {
      answer += part
    })
    socket.once('close', () => resolve(answer))
    socket.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' ? resolve(answer) : reject(error),
    )
  })
}

/** Returns the status of each response on the connection, in order. */
const statusesOf = (answer: string) =>
  [...answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status))

const lines = (...text: string[]) => `${text.join('\r\n')}\r\n\r\n`

/** A smuggled second request. Its response differs from every other response in this test. */
const HIDDEN = lines('GET /healthz HTTP/1.1', 'Host: x')

describe('a request with contradictory lengths', () => {
  const SENT = 'POST /api/auth/login HTTP/1.1'

  test.each([
    ['a length and chunks', ['Content-Length: 6', 'Transfer-Encoding: chunked'], '0\r\n\r\n'],
    ['two lengths', ['Content-Length: 2', `Content-Length: ${HIDDEN.length + 2}`], '{}'],
    ['a list of lengths', [`Content-Length: 2, ${HIDDEN.length + 2}`], '{}'],
    ['chunks that are not the last coding', ['Transfer-Encoding: chunked, gzip'], '0\r\n\r\n'],
    ['an unknown coding', ['Transfer-Encoding: xchunked', 'Content-Length: 2'], '{}'],
  ])(
    'is refused with %s, and nothing more is read from its connection',
    async (_what, headers, body) => {
      const request = `${lines(SENT, 'Host: x', 'Content-Type: application/json', ...headers)}${body}`
      expect(statusesOf(await exchange(request + HIDDEN))).toEqual([400])
    },
  )
})

test('a body that ends early is logged as a fault of the client, not of the database', async () => {
  const before = service.logged.length
  const { server } = service.app.server
  const arrived = once(server, 'request') as Promise<[IncomingMessage]>
  const socket = connect(port, '127.0.0.1')
  const head = lines('POST /api/auth/login HTTP/1.1', 'Host: x', 'Content-Length: 1000')
  socket.write(`${head}{"em`)
  const [request] = await arrived
  const closed = new Promise<void>((resolve) => request.once('close', resolve))
  socket.destroy()
  await closed
  expect(request.errored).toMatchObject({ code: 'ECONNRESET' })
  // The next request would follow any bytes that the previous request left on the connection.
  await service.call('GET', '/healthz')
  const told = service.logged.slice(before).filter(([level]) => level !== 'info')
  expect(told).toEqual([])
})

describe('a request is refused if it contains', () => {
  test.each([
    [
      'a header that continues on the next line',
      'GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n',
    ],
    ['a space before a colon', 'GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length : 0\r\n\r\n'],
    ['a NUL in a header', 'GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n'],
    ['lines that end with CR only', 'GET /healthz HTTP/1.1\rHost: x\r\r'],
    ['an unknown HTTP version', 'GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n'],
  ])('%s', async (_what, request) => {
    expectRefusal(await exchange(request), 400, 'unreadable_request', 'request rejected')
  })

  test('headers of more than 16 KiB', async () => {
    const request = lines('GET /healthz HTTP/1.1', 'Host: x', `A: ${'a'.repeat(20_000)}`)
    expectRefusal(await exchange(request), 431, 'headers_too_large', 'request rejected')
  })
})

describe('an unsupported HTTP method', () => {
  test.each(['TRACE', 'PATCH', 'PROPFIND', 'QUERY'])('is refused: %s', async (method) => {
    const request = lines(`${method} /api/admin/users HTTP/1.1`, 'Host: x', 'Connection: close')
    expect(statusesOf(await exchange(request))).toEqual([405])
  })

  test('opens no tunnel: CONNECT', async () => {
    const request = lines('CONNECT 127.0.0.1:1 HTTP/1.1', 'Host: 127.0.0.1:1')
    expect(statusesOf(await exchange(request))).toEqual([])
  })
})

const PATHS = ['/healthz', '/api/auth/tenants', '/docs', '/console/users', '/nothing']

/** Expects the standard error body with a request id, and the same id in the log. */
function expectRefusal(answer: string, status: number, code: string, line = 'request') {
  expect(statusesOf(answer)).toEqual([status])
  expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toEqual({
    detail: expect.any(String),
    code,
  })
  const id = /^x-request-id: (\S+)\r$/im.exec(answer)?.[1]
  const logged = service.logged.filter(
    ([, fields]) => (fields as { req_id?: string }).req_id === id,
  )
  expect(logged).toEqual([['info', expect.objectContaining({ status }), line]])
}

describe('the Host header', () => {
  test.each([
    ['missing', []],
    ['present twice', ['Host: a.test', 'Host: b.test']],
    ['present twice with one value, in different letter case', ['Host: a.test', 'hOsT: a.test']],
  ])('is refused as ambiguous if it is %s', async (_what, hosts) => {
    for (const path of PATHS) {
      const answer = await exchange(lines(`GET ${path} HTTP/1.1`, ...hosts, 'Connection: close'))
      expectRefusal(answer, 400, 'ambiguous_host')
    }
  })

  test('may be absent in HTTP/1.0, which does not define it', async () => {
    expect(statusesOf(await exchange(lines('GET /healthz HTTP/1.0')))).toEqual([200])
  })
})

describe('a request with an Expect header', () => {
  test('is refused if the value of the header is unknown', async () => {
    for (const path of PATHS)
      for (const sent of [`GET ${path} HTTP/1.1`, `POST ${path} HTTP/1.1`]) {
        const answer = await exchange(lines(sent, 'Host: x', 'Expect: tea', 'Connection: close'))
        expectRefusal(answer, 417, 'expectation_failed')
      }
  })

  test('gets 100 Continue before its body is read', async () => {
    const head = lines(
      'POST /api/auth/login HTTP/1.1',
      'Host: x',
      'Expect: 100-Continue',
      'Content-Type: application/json',
      'Content-Length: 2',
      'Connection: close',
    )
    const answer = await exchange(`${head}{}`)
    expect(statusesOf(answer)).toEqual([100, 422])
  })
})

test('the service neither serves nor logs files outside the folder of the API documentation', async () => {
  for (const path of ['/docs/static/../x', '/docs/static/%2e%2e/x', '/docs/static/..%2f..%2fx']) {
    const answer = await exchange(lines(`GET ${path} HTTP/1.1`, 'Host: x', 'Connection: close'))
    expect([path, statusesOf(answer)]).toEqual([path, [404]])
  }
  expect(service.logged.filter(([level]) => level === 'error')).toEqual([])
})

describe('a path with .. segments', () => {
  test.each([
    '/docs/../../package.json',
    '/docs/static/%2e%2e/%2e%2e/package.json',
    '/docs/static/..%2f..%2fpackage.json',
    '/docs/static/..%5c..%5cpackage.json',
    '/docs/static//etc/passwd',
    '/console/../package.json',
    '/console/assets/%2e%2e/%2e%2e/package.json',
    '/console/assets/..%2f..%2fpackage.json',
    '/console/..%5c..%5cpackage.json',
    '/console//etc/passwd',
    '/console/.vite/manifest.json',
    '/verify-email/../../package.json',
  ])('does not lead to a file outside the served folder: %s', async (path) => {
    const answer = await exchange(lines(`GET ${path} HTTP/1.1`, 'Host: x', 'Connection: close'))
    expect(statusesOf(answer)).toEqual([404])
    expect(answer).not.toContain('"dependencies"')
  })
})
