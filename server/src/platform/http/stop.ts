import type { FastifyInstance } from 'fastify'
import type { Time } from '../../lib/time.ts'
import { within } from '../../lib/within.ts'

/** How long a shutdown waits for running requests before it closes their connections. */
const PATIENCE_MS = 7_000

/** Stops accepting requests and waits for running ones. Closes the connections of requests that take too long. */
export async function stopServing(server: FastifyInstance, clock: Time): Promise<void> {
  const closed = server.close()
  if (await within(clock, PATIENCE_MS, closed)) return
  server.server.closeAllConnections()
  await closed
}
