/** A start waits for the end of a restore of everything, which refuses what a start has to write. */
import type { Time } from '../../lib/time.ts'
import type { Logger } from '../observe/log.ts'
import { HEARTBEAT_MS, isAmong, readClosed } from './changes.ts'
import { type DatabaseAddress, ownerClient } from './connection.ts'

/**
 * Resolves once no restore has closed the service for all.
 * @returns false where the signal has come first
 */
export async function untilOpen(
  address: DatabaseAddress,
  { log, clock, signal }: { log: Logger; clock: Time; signal: AbortSignal },
): Promise<boolean> {
  const client = ownerClient(address)
  await client.connect()
  try {
    const isClosed = async () => isAmong(await readClosed(client), null)
    if (await isClosed()) log.info({}, 'a restore is under way; waiting for its end')
    while (!signal.aborted && (await isClosed()))
      await clock.delay(HEARTBEAT_MS, { signal }).catch(() => undefined)
    return !signal.aborted
  } finally {
    await client.end()
  }
}
