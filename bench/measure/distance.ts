/** A TCP proxy that makes a server appear far away. */
import { createConnection, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

export interface Distance {
  readonly port: number
  close(): Promise<void>
}

/**
 * Opens a proxy to a port of 127.0.0.1. All data arrive `ms` later in both directions, so a round trip takes twice as
 * long.
 */
export async function distanceTo(target: number, ms: number): Promise<Distance> {
  const open = new Set<Socket>()
  const forward = (from: Socket, to: Socket) => {
    open.add(from)
    from.on('data', async (chunk) => {
      await delay(ms)
      if (to.writable) to.write(chunk)
    })
    from.on('error', () => undefined)
    from.once('close', () => {
      open.delete(from)
      to.destroy()
    })
  }
  const server = createServer({ noDelay: true }, (near) => {
    const far = createConnection({ host: '127.0.0.1', port: target, noDelay: true })
    forward(near, far)
    forward(far, near)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    port,
    async close() {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
