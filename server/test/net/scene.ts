/** Helpers for tests of outgoing requests: a client that is closed with the test, and raw servers. */
import { createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { systemTime } from '../../src/lib/time.ts'
import {
  dnsResolver,
  type Exchange,
  type Outbound,
  openOutbound,
  type Post,
  parseNetworks,
} from '../../src/platform/net/index.ts'
import { type DnsServer, openDns, type Saying } from '../support/dns.ts'
import { until } from '../support/until.ts'

export interface WayOut extends Outbound {
  /** Posts a small body, and waits up to ten seconds by default. */
  send(url: string, other?: Partial<Post>): Promise<Exchange>
}

interface Options {
  /** The allowed networks; all of 127.0.0.0/8 by default. */
  allowed?: string
  /** The known names. Without them, the client would query the system's DNS. */
  dns?: DnsServer
  idleMs?: number
  ca?: string
}

export function openWayOut({ allowed = '127.0.0.0/8', dns, idleMs, ca }: Options = {}): WayOut {
  const outbound = openOutbound({
    clock: systemTime,
    policy: { allowHttp: true, allowedNetworks: parseNetworks(allowed) },
    resolver: dns
      ? dnsResolver({ clock: systemTime, servers: () => [dns.address] })
      : () => Promise.reject(new Error('a test asked for a name')),
    ...(idleMs ? { idleMs } : {}),
    ...(ca ? { ca } : {}),
  })
  onTestFinished(() => outbound.close())
  const send = (url: string, other: Partial<Post> = {}) =>
    outbound.post({ url, headers: {}, body: '{}', deadlineMs: 10_000, keepBytes: 1024, ...other })
  return { ...outbound, send }
}

/** Opens a client that knows only these names. */
export async function openNamed(zone: Record<string, Saying>, options: Omit<Options, 'dns'> = {}) {
  const dns = await openDns(zone)
  return { dns, out: openWayOut({ ...options, dns }) }
}

export interface RawServer {
  port: number
  /** `http://127.0.0.1:<port>/hook` */
  url: string
  /** Returns how many connections were made. */
  connections(): number
  /** Returns how many of the connections are open. */
  open(): number
  /** Returns how many bytes have arrived, over all connections. */
  bytes(): number
  /** Returns how many requests have arrived, over all connections. */
  requests(): number
  close(): Promise<void>
}

export type OnRequest = (socket: Socket, request: { index: number; ofConnection: number }) => void

const WHOLE = /^GET .*\r\n\r\n$|\r\n\r\n\{\}$/s

/**
 * Opens a raw server, which can answer in ways that no HTTP server would. A request ends with its body `{}`, and a GET
 * ends without a body.
 */
export async function openRaw(
  onRequest: OnRequest,
  host = '127.0.0.1',
  port = 0,
): Promise<RawServer> {
  const sockets = new Set<Socket>()
  let connections = 0
  let requests = 0
  let bytes = 0
  const server = createServer((socket) => {
    connections += 1
    let ofConnection = 0
    let unread = ''
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    socket.on('data', (chunk) => {
      bytes += chunk.length
      unread += chunk.toString('latin1')
      if (!WHOLE.test(unread)) return
      unread = ''
      onRequest(socket, { index: requests++, ofConnection: ofConnection++ })
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const address = server.address() as { port: number }
  const close = async () => {
    if (!server.listening) return
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  }
  onTestFinished(close)
  return {
    port: address.port,
    url: `http://${host}:${address.port}/hook`,
    connections: () => connections,
    open: () => sockets.size,
    bytes: () => bytes,
    requests: () => requests,
    close,
  }
}

/** Returns an HTTP/1.1 response that keeps the connection open. */
export const ok = (body = '', ...fields: string[]) =>
  ['HTTP/1.1 200 OK', `content-length: ${Buffer.byteLength(body)}`, ...fields, '', body].join(
    '\r\n',
  )

/** Waits until the condition is true. */
export const eventually = (what: string, isSo: () => boolean) =>
  until(what, () => isSo() || undefined)
