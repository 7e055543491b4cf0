/** Streams of bytes to one server that the operator has configured, over TCP or TLS. */
import type { Socket } from 'node:net'
import { ANYWHERE } from './addresses.ts'
import { startExchange } from './context.ts'
import { dialler, type TlsIdentity } from './dial.ts'
import { DialError } from './dial-error.ts'
import { type Resolver, systemResolver } from './resolver.ts'

const KEEP_ALIVE_MS = 15_000
const CLOSE_WITHIN_MS = 1_000

export interface OutgoingStream {
  /**
   * Writes bytes. Resolves when the operating system has taken all of them, which says nothing about the server.
   * @throws DialError if the connection is lost, or if the server does not take the bytes within the deadline
   */
  write(bytes: Buffer, deadlineMs: number): Promise<void>
  /** Returns why the connection was lost, or undefined while it is open. */
  fault(): DialError | undefined
  close(): Promise<void>
}

export interface Streams {
  /** Connects, with TLS if `isSecure`. @throws DialError */
  connect(options: { deadlineMs: number; signal: AbortSignal }): Promise<OutgoingStream>
}

export interface StreamTarget {
  /** The host name, or an address. IPv6 addresses are in brackets. */
  host: string
  port: number
  /** Whether to use TLS 1.2 or newer, with a verified certificate. Never falls back to plain text. */
  isSecure: boolean
}

export function openStreams(
  { host, port, isSecure }: StreamTarget,
  identity: TlsIdentity,
  resolver: Resolver = systemResolver(),
): Streams {
  const dial = dialler({ policy: ANYWHERE, resolver, identity, protocol: null })
  const url = new URL(`${isSecure ? 'https' : 'http'}://${host}:${port}`)
  return {
    async connect({ deadlineMs, signal }) {
      const context = startExchange(deadlineMs, signal)
      try {
        return streamOver(await dial(url, context), signal)
      } finally {
        context.finish()
      }
    },
  }
}

function streamOver(socket: Socket, signal: AbortSignal): OutgoingStream {
  let fault: DialError | undefined
  let failWrite: ((error: DialError) => void) | undefined
  const closed = new Promise<void>((resolve) => void socket.once('close', () => resolve()))
  function lose(why: DialError): void {
    fault ??= why
    failWrite?.(fault)
    socket.destroy()
  }
  const stop = () => lose(new DialError('aborted', 'the service is shutting down'))
  signal.addEventListener('abort', stop, { once: true })
  socket.on('error', (error: NodeJS.ErrnoException) =>
    lose(new DialError('connection_lost', `the connection was lost (${error.code ?? error.name})`)),
  )
  // A server that closes its side has stopped reading, so the bytes that it has not read are lost.
  for (const event of ['end', 'close'] as const)
    socket.once(event, () =>
      lose(new DialError('connection_lost', 'the server closed the connection')),
    )
  void closed.then(() => signal.removeEventListener('abort', stop))
  socket.setKeepAlive(true, KEEP_ALIVE_MS)
  // Discards what the server sends. Otherwise the end of the stream would not be noticed.
  socket.resume()

  return {
    fault: () => fault,
    async write(bytes, deadlineMs) {
      if (fault) throw fault
      const context = startExchange(deadlineMs, signal)
      context.missing = 'the server did not take the data'
      try {
        await new Promise<void>((resolve, reject) => {
          failWrite = reject
          context.onAbort = () => reject(context.fault)
          socket.write(bytes, (error) => (error ? undefined : resolve()))
        })
      } catch (error) {
        lose(error as DialError)
        throw error
      } finally {
        failWrite = undefined
        context.onAbort = undefined
        context.finish()
      }
    },
    async close() {
      fault ??= new DialError('aborted', 'the connection was closed')
      // A server that takes no data would delay an orderly end.
      const context = startExchange(CLOSE_WITHIN_MS, undefined)
      context.onAbort = () => socket.destroy()
      socket.destroySoon()
      await closed
      context.finish()
    },
  }
}
