/** One connection to one judged address, over which requests go one after another. */
import type { Socket } from 'node:net'
import type { Client } from 'undici'
import { type Body, readBody } from './answer.ts'
import type { ExchangeContext } from './context.ts'
import { answerError, DialError, type ResponseProgress } from './dial-error.ts'
import { unmapped } from './networks.ts'
import { type InterimFilter, skipInterim } from './skip-interim.ts'

/** Bytes that the header of an answer may have. */
const MAX_HEADER = 16 * 1024

/** How long a connection may be idle when the server's Keep-Alive header allows for more. */
const MAX_IDLE_MS = 30_000

export interface ConnectionRequest {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE'
  url: URL
  headers: Record<string, string>
  body: string | Buffer | null
  /** How many bytes of the answer's body are kept. */
  keepBytes: number
  /** Whether an answer of more bytes is a fault: its beginning is of no use. */
  wantsWhole?: boolean
}

export interface Answer {
  status: number
  /** Its header. */
  fields: Fields
  /** The beginning of the body. */
  body: Body
}

/** Fields of a header, by their names in lower case. */
export type Fields = Readonly<Record<string, string | string[] | undefined>>

export interface Connection {
  readonly origin: string
  /** The address at the other end, without the port. */
  readonly address: string
  /** Whether it may take another request. */
  isOpen(): boolean
  /** One request. Whatever goes wrong ends the connection. @throws DialError, also the one that the exchange was stopped with */
  send(request: ConnectionRequest, context: ExchangeContext): Promise<Answer>
  /** Ends it and what runs over it; resolves when the connection is gone. */
  end(): Promise<void>
}

export interface ConnectionOptions {
  origin: string
  /** How long it may be idle, unless the server's Keep-Alive header says something else. */
  idleMs: number
  /** Called when it has ended, whoever ended it. */
  onEnd(connection: Connection): void
}

export async function openConnection(
  socket: Socket,
  options: ConnectionOptions,
): Promise<Connection> {
  const { origin, idleMs, onEnd } = options
  // Loaded here: it takes 100 ms, which a command that only reads the configuration should not pay.
  const { Client } = await import('undici')
  const filter = skipInterim(socket)
  let isHandedOver = false
  const client = new Client(origin, {
    // undici would connect again on its own, to an address that nobody has judged.
    connect(_target, take) {
      const isFirst = !isHandedOver
      isHandedOver = true
      queueMicrotask(() =>
        isFirst ? take(null, socket) : take(new Error('the connection ended'), null),
      )
    },
    allowH2: false,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: Math.max(idleMs, MAX_IDLE_MS),
    maxHeaderSize: MAX_HEADER,
    // The exchange has a deadline over everything.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const gone = new Promise<void>((resolve) => {
    if (socket.closed) resolve()
    else socket.once('close', resolve)
  })
  const connection: Connection = {
    origin,
    address: unmapped(socket.remoteAddress ?? ''),
    isOpen: () => !socket.destroyed,
    send: (request, context) => exchange({ client, connection, filter }, request, context),
    end() {
      onEnd(connection)
      // Destroyed, it fails what undici would otherwise send over a connection of its own.
      client.destroy(null, () => undefined)
      socket.destroy()
      return gone
    },
  }
  client.once('disconnect', () => void connection.end())
  return connection
}

interface Wire {
  client: Client
  connection: Connection
  filter: InterimFilter
}

function exchange(
  { client, connection, filter }: Wire,
  request: ConnectionRequest,
  context: ExchangeContext,
): Promise<Answer> {
  const { method, url, headers, body, keepBytes, wantsWhole } = request
  return new Promise((resolve, reject) => {
    const reader = wantsWhole ? readBody(keepBytes, keepBytes) : readBody(keepBytes)
    let status = 0
    let fields: Fields = {}
    let progress: ResponseProgress = 'nothing'
    const finish = () => {
      context.onAbort = undefined
      resolve({ status, fields, body: reader })
    }
    const fail = (fault: unknown) => {
      context.onAbort = undefined
      reject(fault)
      void connection.end()
    }
    const stop = () => fail(context.fault)
    if (context.fault) return stop()
    context.onAbort = stop
    context.address = connection.address
    filter.skip()
    client.dispatch(
      { path: url.pathname + url.search, method, headers, body },
      {
        onRequestStart() {
          context.missing = 'no answer'
        },
        onResponseStarted() {
          progress = 'something'
        },
        onResponseStart(_controller, code, header) {
          // RFC 9110, 15.2: an interim answer is only an announcement.
          if (code < 200) return
          filter.pass()
          progress = 'header'
          status = code
          fields = header
          context.missing = 'no end of the answer'
        },
        onResponseData(_controller, chunk) {
          if (reader.take(chunk)) return
          if (wantsWhole) return fail(tooLong(keepBytes))
          finish()
          void connection.end()
        },
        onResponseEnd: finish,
        onResponseError(_controller, error) {
          if (progress === 'nothing' && filter.hasSkipped()) progress = 'something'
          fail(answerError(error, progress))
        },
      },
    )
  })
}

const tooLong = (bytes: number) =>
  new DialError('answer_invalid', `the answer is longer than ${bytes / 1024} KiB`)
