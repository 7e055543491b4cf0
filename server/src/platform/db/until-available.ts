/** Delays startup while a full restore is running, because maintenance mode refuses the writes of startup. */
import type { Time } from '../../lib/time.ts'
import type { Logger } from '../observe/log.ts'
import { type DatabaseAddress, ownerClient } from './connection.ts'
import { HEARTBEAT_MS } from './heartbeat.ts'
import { coversTenant, readMaintenance } from './maintenance.ts'

/** Waits until no full restore is running. @returns false if the signal aborts first */
export async function untilAvailable(
  address: DatabaseAddress,
  { log, clock, signal }: { log: Logger; clock: Time; signal: AbortSignal },
): Promise<boolean> {
  const client = ownerClient(address)
  await client.connect()
  try {
    const isInMaintenance = async () => coversTenant(await readMaintenance(client), null)
    if (await isInMaintenance()) log.info({}, 'startup waits for a running restore')
    while (!signal.aborted && (await isInMaintenance()))
      await clock.delay(HEARTBEAT_MS, { signal }).catch(() => undefined)
    return !signal.aborted
  } finally {
    await client.end()
  }
}
