/**
 * Interim responses, which some servers send without a request for them. The client skips them, regardless of their
 * content.
 */

import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openUpstream } from '../../src/platform/net/index.ts'

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
const response = (body: string) =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`

/** Opens a server that answers every request with `answer`. Returns a client with one connection. */
async function openServer(answer: (socket: Socket) => unknown) {
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    socket.on('error', () => undefined)
    socket.on('data', () => void answer(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const upstream = openUpstream({ url })
  onTestFinished(async () => {
    await upstream.close()
    server.close()
  })
  return {
    connections: () => connections,
    async ask() {
      const answer = await upstream.send({
        method: 'GET',
        url: `${url}/`,
        headers: {},
        deadlineMs: 20_000,
      })
      return answer.kind === 'answered' ? [answer.status, String(answer.body)] : answer
    },
  }
}

test.each([
  ['none', ''],
  ['one 100', CONTINUE],
  ['two 100', CONTINUE + CONTINUE],
  ['a 100 with a header', 'HTTP/1.1 100 Continue\r\nServer: x\r\n\r\n'],
  ['a 100 of HTTP/1.0', 'HTTP/1.0 100 Continue\r\n\r\n'],
  ['a 102', 'HTTP/1.1 102 Processing\r\n\r\n'],
  ['a 103', 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'],
  ['a 103 and a 100', `HTTP/1.1 103 Early Hints\r\n\r\n${CONTINUE}`],
  ['a 100 and a 103', `${CONTINUE}HTTP/1.1 103 Early Hints\r\n\r\n`],
])(
  'interim responses before the response are ignored, and the connection is reused: %s',
  async (_, before) => {
    const server = await openServer((socket) => socket.write(before + response('ok')))
    expect(await server.ask()).toEqual([200, 'ok'])
    expect(await server.ask()).toEqual([200, 'ok'])
    expect(server.connections()).toBe(1)
  },
)

test('an interim response 100 is accepted if it arrives byte by byte', async () => {
  const server = await openServer(async (socket) => {
    for (const byte of CONTINUE + response('ok')) {
      socket.write(byte)
      await new Promise((resolve) => setImmediate(resolve))
    }
  })
  expect(await server.ask()).toEqual([200, 'ok'])
})

test('a response body that looks like an interim response is returned unchanged', async () => {
  const body = `${CONTINUE}not a head`
  const [head = ''] = response(body).split(CONTINUE)
  const server = await openServer((socket) => {
    socket.write(head)
    setImmediate(() => socket.write(body))
  })
  expect(await server.ask()).toEqual([200, body])
})
