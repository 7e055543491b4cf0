/** A port of 127.0.0.1 that refuses connections for as long as it is kept. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface RefusedPort {
  port: number
  /** Gives the port free, so that it can be listened on at once. */
  free(): Promise<void>
}

/**
 * Takes a port that nothing listens on. It is the near end of a connection of our own: no other
 * process is given it, as happens with the port of a server that was closed.
 */
export async function refusedPort(): Promise<RefusedPort> {
  const server = createServer((far) => far.on('error', () => undefined))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const near: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(near, 'connect')
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
