/** One connection to a checked address. Sends its requests one after the other. */
import type { Socket } from 'node:net'
import type { Client } from 'undici'
import { type Body, readBody } from './answer.ts'
import type { ExchangeContext } from './context.ts'
import { answerError, DialError, type ResponseProgress } from './dial-error.ts'
import { unmapped } from './networks.ts'
import { type InterimFilter, skipInterim } from './skip-interim.ts'

/** Maximum size of the response headers in bytes. */
const MAX_HEADER = 16 * 1024

/** Maximum idle time in milliseconds, even if the server's Keep-Alive header allows more. */
const MAX_IDLE_MS = 30_000

export interface ConnectionRequest {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE'
  url: URL
  headers: Record<string, string>
  body: string | Buffer | null
  /** How many bytes of the response body to store. */
  keepBytes: number
  /**
   * True to fail if the response is larger than `keepBytes`. For callers for whom a part of the response is useless.
   */
  wantsWhole?: boolean
}

export interface RawAnswer {
  status: number
  /** The response headers. */
  fields: Fields
  /** The stored beginning of the response body. */
  body: Body
}

/** Response headers by their names in lower case. */
export type Fields = Readonly<Record<string, string | string[] | undefined>>

export interface HttpConnection {
  readonly origin: string
  /** The IP address of the server, without the port. */
  readonly address: string
  /** Returns true if the connection can send another request. */
  isOpen(): boolean
  /** Sends one request. Any failure closes the connection. @throws DialError for any failure, including an abort */
  send(request: ConnectionRequest, context: ExchangeContext): Promise<RawAnswer>
  /** Closes the connection and aborts its running request. Resolves when the socket is closed. */
  end(): Promise<void>
}

export interface ConnectionOptions {
  origin: string
  /** How long the connection may stay idle (milliseconds), unless the server's Keep-Alive header specifies a time. */
  idleMs: number
  /** Called when the connection has closed for any reason. */
  onEnd(connection: HttpConnection): void
}

export async function openConnection(
  socket: Socket,
  options: ConnectionOptions,
): Promise<HttpConnection> {
  const { origin, idleMs, onEnd } = options
  // Loads the library on first use. This takes 100 ms, which commands without outgoing requests should not need.
  const { Client } = await import('undici')
  const filter = skipInterim(socket)
  let isHandedOver = false
  const client = new Client(origin, {
    // Allows only the given socket, so that undici cannot connect again to an address that was not checked.
    connect(_target, take) {
      const isFirst = !isHandedOver
      isHandedOver = true
      queueMicrotask(() =>
        isFirst ? take(null, socket) : take(new Error('the connection closed'), null),
      )
    },
    allowH2: false,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: Math.max(idleMs, MAX_IDLE_MS),
    maxHeaderSize: MAX_HEADER,
    // Disables this timeout, because the deadline of the exchange covers the whole response.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const gone = new Promise<void>((resolve) => {
    if (socket.closed) resolve()
    else socket.once('close', resolve)
  })
  const connection: HttpConnection = {
    origin,
    address: unmapped(socket.remoteAddress ?? ''),
    isOpen: () => !socket.destroyed,
    send: (request, context) => exchange({ client, connection, filter }, request, context),
    end() {
      onEnd(connection)
      // Destroys the client first. Otherwise undici would send its pending requests over a new connection.
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
  connection: HttpConnection
  filter: InterimFilter
}

function exchange(
  { client, connection, filter }: Wire,
  request: ConnectionRequest,
  context: ExchangeContext,
): Promise<RawAnswer> {
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
          context.missing = 'no response'
        },
        onResponseStarted() {
          progress = 'something'
        },
        onResponseStart(_controller, code, header) {
          // An interim response only announces the final one (RFC 9110, 15.2).
          if (code < 200) return
          filter.pass()
          progress = 'header'
          status = code
          fields = header
          context.missing = 'incomplete response'
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
  new DialError('answer_invalid', `the response is larger than ${bytes / 1024} KiB`)
