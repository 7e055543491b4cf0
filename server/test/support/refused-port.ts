/** A port of 127.0.0.1 that refuses connections for as long as it is kept. */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface RefusedPort {
  port: number
  /** Gives the port free, so that it can be listened on at once. */
  free(): Promise<void>
}

/** Below those that systems give out by themselves: a port that is given free here is given to nobody else. */
const [LOWEST, HIGHEST] = [20_000, 30_000]

/**
 * Takes a port that nothing listens on. It is the near end of a connection of our own: no other
 * process is given it, as happens with the port of a server that was closed.
 */
export async function refusedPort(): Promise<RefusedPort> {
  const server = createServer((far) => far.on('error', () => undefined))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const near = await connectFromUnused((server.address() as AddressInfo).port)
  // Accepts nobody else; it ends with its only connection.
  server.close()
  near.on('error', () => undefined)
  return {
    port: near.localPort ?? 0,
    async free() {
      const freed = once(near, 'close')
      near.resetAndDestroy()
      await freed
    },
  }
}

/** Connects from a port that nobody has: the first that is free of some taken at random. */
async function connectFromUnused(port: number): Promise<Socket> {
  for (;;) {
    const near = connect({ port, host: '127.0.0.1', localPort: randomInt(LOWEST, HIGHEST) })
    try {
      await once(near, 'connect')
      return near
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    }
  }
}
