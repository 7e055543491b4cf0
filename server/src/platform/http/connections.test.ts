/** Tests the limits of one server connection. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../../test/support/until.ts'
import { boundConnections } from './connections.ts'

const UNREAD_MS = 100
const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

type Handle = (request: IncomingMessage, response: ServerResponse) => void

/** Opens a server with limited connections, and connects to it. */
async function open(handle: Handle): Promise<{ server: Server; socket: Socket }> {
  const server = createServer(handle)
  boundConnections(server, UNREAD_MS)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => undefined)
  onTestFinished(() => {
    socket.destroy()
    server.closeAllConnections()
    server.close()
  })
  return { server, socket }
}

test('a connection is closed after eight unanswered requests, and those eight are handled', async () => {
  const responses: ServerResponse[] = []
  const { socket } = await open((_request, response) => responses.push(response))
  let received = ''
  socket.setEncoding('utf8').on('data', (text) => {
    received += text
  })
  socket.write(GET.repeat(20))
  await until('eight requests', () => responses.length === 8 || undefined)
  for (const [index, response] of responses.entries()) response.end(`response ${index}`)
  await once(socket, 'close')
  expect(received.match(/response \d+/g)).toEqual(
    Array.from({ length: 8 }, (_, index) => `response ${index}`),
  )
  expect(responses).toHaveLength(8)
})

test('a connection may carry any number of requests if each waits for the previous response', async () => {
  const { socket } = await open((_request, response) => response.end('answered'))
  for (let count = 0; count < 20; count += 1) {
    socket.write(GET)
    await once(socket, 'data')
  }
  expect(socket.destroyed).toBe(false)
})

test('a connection is closed if its response is never read', async () => {
  const { server, socket } = await open((_request, response) =>
    response.end(Buffer.alloc(64 * 2 ** 20)),
  )
  const [accepted] = (await once(server, 'connection')) as [Socket]
  socket.pause()
  socket.write(GET)
  await once(accepted, 'close')
  expect(accepted.bytesWritten).toBeGreaterThan(0)
})

test('a request may take longer to handle than its response may stay unread', async () => {
  const { server, socket } = await open((_request, response) =>
    server.once('timeout', () => response.end('late')),
  )
  socket.write(GET)
  const [data] = (await once(socket, 'data')) as [Buffer]
  expect(data.toString()).toContain('late')
})
