/** An attacker floods the service over few connections. No flood makes the service use much memory. */
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

const MIB = 2 ** 20

let service: Service
let port: number

beforeAll(async () => {
  service = await openService()
  await service.app.server.listen({ host: '127.0.0.1', port: 0 })
  port = (service.app.server.server.address() as AddressInfo).port
})

function dial(): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  return socket
}

/** Returns the bytes in use after garbage collection, including memory outside the heap. */
function bytesInUse(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  const { heapUsed, external, arrayBuffers } = process.memoryUsage()
  return heapUsed + external + arrayBuffers
}

test('the service uses little memory for six thousand pipelined requests whose responses are never read', async () => {
  await service.call('GET', '/openapi.json')
  const before = bytesInUse()
  const answered = service.logged.length
  const sockets = Array.from({ length: 4 }, dial)
  for (const socket of sockets) {
    socket.pause()
    socket.write('GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_500))
  }
  await until('each connection is served', () => service.logged.length >= answered + 4 || undefined)
  expect(await service.call('GET', '/healthz')).toMatchObject({ status: 200 })
  expect(bytesInUse() - before).toBeLessThan(60 * MIB)
})

test('a body that arrives in single bytes is refused, and its connection is closed', async () => {
  const body = JSON.stringify({ email: 'a@b.test', password: 'x'.repeat(16_000) })
  const socket = dial()
  let received = ''
  socket.setEncoding('utf8').on('data', (text) => {
    received += text
  })
  socket.write(
    'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
  )
  socket.write([...body].map((byte) => `1\r\n${byte}\r\n`).join(''))
  await once(socket, 'close')
  expect(received).toMatch(/^HTTP\/1\.1 400 /)
  expect(received).toContain('"code":"body_in_pieces"')
})

test('a body that arrives in pieces of a few hundred bytes is accepted', async () => {
  const body = JSON.stringify({
    email: 'a@b.test',
    password: 'x'.repeat(100),
    more: 'y'.repeat(12_000),
  })
  const pieces = body.match(/.{1,300}/g) ?? []
  const socket = dial()
  socket.write(
    'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
  )
  for (const piece of pieces) socket.write(`${piece.length.toString(16)}\r\n${piece}\r\n`)
  socket.write('0\r\n\r\n')
  const [answer] = (await once(socket.setEncoding('utf8'), 'data')) as [string]
  expect(answer).toMatch(/^HTTP\/1\.1 401 /)
})
