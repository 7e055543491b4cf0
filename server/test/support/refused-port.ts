/** A port of 127.0.0.1 that refuses connections until it is released. */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface RefusedPort {
  port: number
  /** Releases the port, so that another listener can use it immediately. */
  free(): Promise<void>
}

/**
 * These ports are below the range from which systems assign ports automatically, so that no other process gets a
 * released port.
 */
const [LOWEST, HIGHEST] = [20_000, 30_000]

/**
 * Reserves a port on which nothing listens. The port is the local end of a connection between two sockets of this
 * process. No other process can get such a port, unlike the port of a closed server.
 */
export async function refusedPort(): Promise<RefusedPort> {
  const server = createServer((far) => far.on('error', () => undefined))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const near = await connectFromUnused((server.address() as AddressInfo).port)
  // Stops accepting connections. The server ends when its only connection ends.
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

/** Connects from a free port, tried at random. */
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
