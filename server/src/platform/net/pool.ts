/** The connections of a process: opened when needed, kept for a while for the next request to the origin. */

import { type Connection, openConnection } from './connection.ts'
import type { ExchangeContext } from './context.ts'
import type { Dial } from './dial.ts'

/** So many idle connections are kept in all; each is an open file here and at the receiver. */
const MAX_IDLE = 512

export interface ConnectionPool {
  /** An idle connection to the origin, if there is one: the latest used, so that the others may expire. */
  take(origin: string): Connection | undefined
  /** @throws DialError */
  open(url: URL, context: ExchangeContext): Promise<Connection>
  /** Keeps a connection for the next request, unless it has ended. */
  keep(connection: Connection): void
  /** Ends all. */
  close(): Promise<void>
}

export function openConnectionPool(dial: Dial, idleMs: number): ConnectionPool {
  const all = new Set<Connection>()
  /** In the order in which they became idle. */
  const idle = new Set<Connection>()
  const byOrigin = new Map<string, Connection[]>()

  function leave(connection: Connection): void {
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
