/** A line: one connection to one judged address, over which requests go one after another. */
import type { Socket } from 'node:net'
import type { Client } from 'undici'
import { readBody } from './answer.ts'
import { answerFault, type Heard } from './faults.ts'
import { unmapped } from './networks.ts'
import type { Run } from './run.ts'

/** Bytes that the header of an answer may have. */
const MOST_HEADER = 16 * 1024

/** How long a line may be idle when the server's Keep-Alive header allows for more. */
const LONGEST_IDLE_MS = 30_000

export interface LineRequest {
  url: URL
  headers: Record<string, string>
  body: string | Buffer
  /** How many bytes of the answer's body are kept. */
  keepBytes: number
}

export interface Answer {
  status: number
  /** The Retry-After header as it came, if there was one. */
  retryAfter: string | undefined
  /** The beginning of the body. */
  body: string
}

export interface Line {
  readonly origin: string
  /** The address at the other end, without the port. */
  readonly address: string
  /** Whether it may take another request. */
  isOpen(): boolean
  /** One POST. Whatever goes wrong ends the line. @throws DialFault, also the one that stopped the run */
  post(request: LineRequest, run: Run): Promise<Answer>
  /** Ends it and what runs over it; resolves when the connection is gone. */
  end(): Promise<void>
}

export interface LineOptions {
  origin: string
  /** How long it may be idle, unless the server's Keep-Alive header says something else. */
  idleMs: number
  /** Told when it has ended, by whomever. */
  onEnd(line: Line): void
}

export async function openLine(socket: Socket, options: LineOptions): Promise<Line> {
  const { origin, idleMs, onEnd } = options
  // Loaded here: it takes 100 ms, which a command that only reads the configuration should not pay.
  const { Client } = await import('undici')
  let isHandedOver = false
  const client = new Client(origin, {
    // undici would connect again on its own; a line is one connection, and none that nobody judged.
    connect(_target, take) {
      const isFirst = !isHandedOver
      isHandedOver = true
      queueMicrotask(() => (isFirst ? take(null, socket) : take(new Error('the line ended'), null)))
    },
    allowH2: false,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: Math.max(idleMs, LONGEST_IDLE_MS),
    maxHeaderSize: MOST_HEADER,
    // The run has a deadline over everything.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const gone = new Promise<void>((resolve) => {
    if (socket.closed) resolve()
    else socket.once('close', resolve)
  })
  const line: Line = {
    origin,
    address: unmapped(socket.remoteAddress ?? ''),
    isOpen: () => !socket.destroyed,
    post: (request, run) => exchange(client, line, request, run),
    end() {
      onEnd(line)
      // Destroyed, it fails what undici would otherwise send over a connection of its own.
      client.destroy(null, () => undefined)
      socket.destroy()
      return gone
    },
  }
  client.once('disconnect', () => void line.end())
  return line
}

function exchange(client: Client, line: Line, request: LineRequest, run: Run): Promise<Answer> {
  const { url, headers, body, keepBytes } = request
  return new Promise((resolve, reject) => {
    const reader = readBody(keepBytes)
    let status = 0
    let retryAfter: string | undefined
    let heard: Heard = 'nothing'
    const finish = () => {
      run.onStop = undefined
      resolve({ status, retryAfter, body: reader.text() })
    }
    const fail = (fault: unknown) => {
      run.onStop = undefined
      reject(fault)
      void line.end()
    }
    const stop = () => fail(run.fault)
    if (run.fault) return stop()
    run.onStop = stop
    run.address = line.address
    client.dispatch(
      { path: url.pathname + url.search, method: 'POST', headers, body },
      {
        onRequestStart() {
          run.awaits = 'no answer'
        },
        onResponseStarted() {
          heard = 'something'
        },
        onResponseStart(_controller, code, fields) {
          // RFC 9110, 15.2: an interim answer is only an announcement.
          if (code < 200) return
          heard = 'header'
          status = code
          const after = fields['retry-after']
          if (typeof after === 'string') retryAfter = after
          run.awaits = 'no end of the answer'
        },
        onResponseData(_controller, chunk) {
          if (reader.take(chunk)) return
          finish()
          void line.end()
        },
        onResponseEnd: finish,
        onResponseError: (_controller, error) => fail(answerFault(error, heard)),
      },
    )
  })
}
