/** The attacker of the socket floods: raw sockets on few connections, with requests that no client library can send. */
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { answer } from './answer.ts'

const SOCKET_FLOODS = {
  'requests in a row whose answers nobody reads': { connections: 4, open: sendUnread },
  'bodies in single bytes': { connections: 12, open: sendBytes },
  'notifications that are finished at one moment': { connections: 100, open: parkBody },
} as const
export type SocketFloodName = keyof typeof SOCKET_FLOODS

export interface SocketFlood {
  url: string
  /** The source address on the loopback interface. */
  address: string
  name: SocketFloodName
  seconds: number
}

/** The number of opened connections. A closed connection is replaced by a new one. */
export interface SocketFlooded {
  opened: number
}

/** The share of the flood after which the rest of the delayed bodies is sent. */
const PARKED_FOR = 0.5

interface Turn {
  socket: Socket
  seconds: number
}

answer(async ({ url, address, name, seconds }: SocketFlood): Promise<SocketFlooded> => {
  const { hostname: host, port } = new URL(url)
  const { connections, open } = SOCKET_FLOODS[name]
  const end = performance.now() + seconds * 1000
  let opened = 0
  const keepOne = async () => {
    while (performance.now() < end) {
      const socket = connect({ host, port: Number(port), localAddress: address })
      opened += 1
      const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
      socket.on('error', () => undefined)
      await open({ socket, seconds })
      await Promise.race([closed, delay(Math.max(end - performance.now(), 0))])
      socket.destroy()
      await closed
    }
  }
  await Promise.all(Array.from({ length: connections }, keepOne))
  return { opened }
})

const head = (line: string, ...headers: string[]) =>
  `${[line, 'Host: bench', ...headers].join('\r\n')}\r\n\r\n`

async function sendUnread({ socket }: Turn): Promise<void> {
  socket.pause()
  socket.write(head('GET /openapi.json HTTP/1.1').repeat(1_500))
}

async function sendBytes({ socket }: Turn): Promise<void> {
  const body = JSON.stringify({ email: 'a@b.example', password: 'x'.repeat(16_000) })
  socket.resume()
  socket.write(
    head(
      'POST /api/auth/login HTTP/1.1',
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
    ),
  )
  socket.write([...body].map((byte) => `1\r\n${byte}\r\n`).join(''))
}

/** Keeps all connections waiting for one last byte, then sends it on all of them at the same time. */
async function parkBody({ socket, seconds }: Turn): Promise<void> {
  const body = JSON.stringify({
    id: 'evt_bench',
    type: 'payment.succeeded',
    data: { object: { list: Array.from({ length: 40_000 }, () => [0]) } },
  })
  socket.resume()
  socket.write(
    head(
      'POST /webhooks/cardnet HTTP/1.1',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ),
  )
  socket.write(body.slice(0, -1))
  await delay(seconds * PARKED_FOR * 1000)
  socket.write(body.slice(-1))
}
