import type { FastifyInstance } from 'fastify'
import type { Time } from '../../lib/time.ts'
import { within } from '../../lib/within.ts'

/** For requests that are under way at a stop. */
const PATIENCE_MS = 7_000

/** Accepts no more, waits for the requests that are under way, and cuts off those that take too long. */
export async function stopServing(server: FastifyInstance, clock: Time): Promise<void> {
  const closed = server.close()
  if (await within(clock, PATIENCE_MS, closed)) return
  server.server.closeAllConnections()
  await closed
}
