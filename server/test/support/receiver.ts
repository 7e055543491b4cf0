/** A real webhook receiver in the test's process. It records requests, and responds as configured. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { vi } from 'vitest'
import type { Clock } from '../../src/lib/clock.ts'
import { atTheEnd } from './cleanup.ts'

export interface Received {
  /** The `webhook-id` header. */
  id: string
  /** The `webhook-timestamp` header: seconds since the Unix epoch. */
  timestamp: number
  headers: Record<string, string>
  /** The raw body. */
  body: string
  /** The path with the query. */
  path: string
  /** When the request had arrived completely, in milliseconds by the receiver's clock. */
  at: number
}

/** A response, or the behaviour of a broken receiver: it drops the connection, or never responds. */
export type Reply =
  | {
      status: number
      headers?: Record<string, string>
      /** The body, sent unchanged. An iterable is sent in pieces, and may be endless. */
      body?: string | Buffer | AsyncIterable<string | Buffer>
      /** How long the receiver waits before it responds. */
      delayMs?: number
    }
  | 'reset'
  | 'stall'

/** Chooses the response. `index` counts the requests from 0. */
export type Answering = (request: Received, index: number) => Reply | Promise<Reply>

export interface Receiver {
  /** `http://127.0.0.1:<port>/hook`. Any other path is accepted too. */
  url: string
  /** Every request in order of arrival, including refused ones. */
  received: Received[]
  /** Returns the number of requests that have no response yet. */
  open(): number
  /** Replaces the responses from now on. */
  answerWith(answer: Answering): void
  /**
   * Verifies every request so far, as a receiver with this secret would on arrival. Returns the messages.
   * @throws WebhookVerificationError for the first invalid request
   */
  verifyWith(secret: string, requests?: readonly Received[]): any[]
  close(): Promise<void>
}

export interface ReceiverOptions {
  /** 200 without a body by default. */
  answer?: Answering
  /** The clock that checks whether messages are recent. A test that moves the service's clock passes that clock. */
  clock?: Clock
  /** The port. By default 0, which selects any free port. */
  port?: number
}

export async function openReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const { clock = { now: Date.now } } = options
  let answer: Answering = options.answer ?? (() => ({ status: 200 }))
  const received: Received[] = []
  const closing = new AbortController()
  let open = 0

  const server = createServer((request, response) => {
    open += 1
    response.on('close', () => {
      open -= 1
    })
    take(request, response).catch(() => response.destroy())
  })

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const message = {
      id: String(request.headers['webhook-id']),
      timestamp: Number(request.headers['webhook-timestamp']),
      headers: request.headers as Record<string, string>,
      body: Buffer.concat(chunks).toString(),
      path: request.url ?? '',
      at: clock.now(),
    }
    const reply = await answer(message, received.push(message) - 1)
    if (reply === 'stall') return
    if (reply === 'reset') return void request.socket.resetAndDestroy()
    if (reply.delayMs) await delay(reply.delayMs, undefined, { signal: closing.signal })
    response.writeHead(reply.status, reply.headers)
    await send(response, reply.body)
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  const close = async () => {
    if (!server.listening) return
    closing.abort()
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  }
  atTheEnd(close)
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    open: () => open,
    answerWith(next) {
      answer = next
    },
    verifyWith: (secret, requests = received) => requests.map((one) => verify(secret, one)),
    close,
  }
}

async function send(
  response: ServerResponse,
  body: string | Buffer | AsyncIterable<string | Buffer> = '',
): Promise<void> {
  if (typeof body === 'string' || Buffer.isBuffer(body)) return void response.end(body)
  for await (const piece of body) {
    if (response.destroyed) return
    if (!response.write(piece))
      await new Promise((go) => response.once('drain', go).once('close', go))
  }
  response.end()
}

/**
 * Verifies a request as of its arrival. The library reads the system clock, so this call sets the clock to the time of
 * arrival.
 */
function verify(secret: string, { headers, body, at }: Received): unknown {
  const webhook = secret.startsWith('whsec_')
    ? new Webhook(secret)
    : new Webhook(Buffer.from(secret), { format: 'raw' })
  vi.useFakeTimers({ toFake: ['Date'], now: at })
  try {
    return webhook.verify(body, headers)
  } finally {
    vi.useRealTimers()
  }
}
