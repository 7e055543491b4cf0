/**
 * Pools the connections of a process. They are opened on demand, and stay open for further requests to the same origin.
 */

import { type HttpConnection, openConnection } from './connection.ts'
import type { ExchangeContext } from './context.ts'
import type { Dial } from './dial.ts'

/** Maximum number of idle connections. Each is an open file here and at the receiver. */
const MAX_IDLE = 512

export interface ConnectionPool {
  /**
   * Removes and returns the most recently used idle connection to the origin, if there is one. Older connections can
   * then expire.
   */
  take(origin: string): HttpConnection | undefined
  /** Opens a new connection. @throws DialError if no connection can be opened */
  open(url: URL, context: ExchangeContext): Promise<HttpConnection>
  /** Returns a connection to the pool for the next request, unless the connection has closed. */
  keep(connection: HttpConnection): void
  /** Closes all connections. */
  close(): Promise<void>
}

export function openConnectionPool(dial: Dial, idleMs: number): ConnectionPool {
  const all = new Set<HttpConnection>()
  /** Idle connections, in the order in which they became idle. */
  const idle = new Set<HttpConnection>()
  const byOrigin = new Map<string, HttpConnection[]>()

  function leave(connection: HttpConnection): void {
    if (!idle.delete(connection)) return
    const others = byOrigin.get(connection.origin)?.filter((other) => other !== connection) ?? []
    if (others.length > 0) byOrigin.set(connection.origin, others)
    else byOrigin.delete(connection.origin)
  }

  return {
    take(origin) {
      const kept = byOrigin.get(origin) ?? []
      for (let connection = kept.pop(); connection; connection = kept.pop()) {
        idle.delete(connection)
        if (kept.length === 0) byOrigin.delete(origin)
        if (connection.isOpen()) return connection
      }
      return undefined
    },
    async open(url, context) {
      const socket = await dial(url, context)
      const connection = await openConnection(socket, {
        origin: url.origin,
        idleMs,
        onEnd(ended) {
          all.delete(ended)
          leave(ended)
        },
      })
      all.add(connection)
      return connection
    },
    keep(connection) {
      if (!connection.isOpen()) return
      const others = byOrigin.get(connection.origin)
      if (others) others.push(connection)
      else byOrigin.set(connection.origin, [connection])
      idle.add(connection)
      const [oldest] = idle
      if (idle.size > MAX_IDLE && oldest) void oldest.end()
    },
    async close() {
      await Promise.all([...all].map((connection) => connection.end()))
    },
  }
}
