/** An address that leads to one of several PostgreSQL servers, like a proxy in front of a cluster. */
import { createConnection, createServer, type Socket } from 'node:net'
import type { EmbeddedServer } from '../../src/platform/embedded/index.ts'
import { atTheEnd } from './cleanup.ts'

type Connection = EmbeddedServer['connection']

export interface TcpSwitch {
  readonly port: number
  /** The database's URL through the switch. */
  readonly url: string
  /** Directs new connections to this server. Ends all open connections, unless `open` is 'kept'. */
  point(target: Connection, open?: 'kept'): void
}

/** Opens a switch to the first server. The switch closes at the end of the test or its file. */
export async function openSwitch(first: Connection): Promise<TcpSwitch> {
  const links = new Set<[near: Socket, far: Socket]>()
  let target = first
  const cut = () => {
    for (const sockets of links) for (const socket of sockets) socket.destroy()
  }
  const server = createServer((near) => {
    const far = createConnection(`${target.host}/.s.PGSQL.${target.port}`)
    const link: [Socket, Socket] = [near, far]
    links.add(link)
    for (const [one, other] of [link, link.toReversed()] as [Socket, Socket][]) {
      one.on('error', () => other.destroy())
      one.on('close', () => {
        other.destroy()
        links.delete(link)
      })
      one.pipe(other)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atTheEnd(() => {
    cut()
    return new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as { port: number }
  return {
    port,
    url: `postgres://${first.user}@127.0.0.1:${port}/${first.database}`,
    point(next, open) {
      target = next
      if (open !== 'kept') cut()
    },
  }
}
