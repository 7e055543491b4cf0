/** Waits at startup for a server that can write, for example after a power outage or during a failover. */
import { StartupError } from '../../lib/startup-error.ts'
import type { Time } from '../../lib/time.ts'
import type { Logger } from '../observe/log.ts'
import { type DatabaseAddress, ownerClient } from './connection.ts'
import { withDeadline } from './deadline.ts'
import { problemOf } from './failures.ts'
import { hangUp } from './hosts.ts'

const AGAIN_MS = 500

/**
 * Waits for a server that can write, and logs the wait. @returns false if the signal aborts first @throws StartupError
 * after `waitMs`, or immediately for permanent errors such as a wrong password
 */
export async function untilWritable(
  address: DatabaseAddress,
  options: { log: Logger; clock: Time; waitMs: number; signal: AbortSignal },
): Promise<boolean> {
  const { log, clock, waitMs, signal } = options
  const begunAt = clock.monotonic()
  const waited = () => clock.monotonic() - begunAt
  for (let tried = 0; !signal.aborted; tried += 1) {
    const reason = await tryConnecting(address, Math.max(AGAIN_MS, waitMs - waited()))
    if (reason === undefined) {
      if (tried > 0) log.info({ waited_ms: Math.round(waited()) }, 'database writable')
      return true
    }
    if (waited() >= waitMs)
      throw new StartupError(
        `DATABASE_URL: no database server was writable within DATABASE_WAIT_SECONDS (${reason}). Check that the database is running and reachable from this machine.`,
      )
    if (tried === 0)
      log.warn({ reason, wait_seconds: waitMs / 1000 }, 'waiting for a writable database')
    await clock.delay(AGAIN_MS, { signal }).catch(() => undefined)
  }
  return false
}

/** Returns why no connection could be opened, or undefined on success. @throws permanent errors */
async function tryConnecting(address: DatabaseAddress, ms: number): Promise<string | undefined> {
  const client = ownerClient(address)
  const connecting = client.connect()
  try {
    await withDeadline(connecting, ms)
    await client.end()
    return undefined
  } catch (error) {
    connecting.catch(() => undefined)
    hangUp(client)
    if (problemOf(error)?.code !== 'database_away') throw error
    const { code, message } = error as NodeJS.ErrnoException
    return message || code || 'unknown'
  }
}
