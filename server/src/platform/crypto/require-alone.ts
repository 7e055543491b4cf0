/** Work on the root key needs the database for itself, because every process keeps the key in memory. */
import { StartupError } from '../../lib/startup-error.ts'
import type { Time } from '../../lib/time.ts'
import { type TenantTx, tryLockUntilEnd } from '../db/index.ts'
import * as store from './root-keys.store.ts'

/** How long a process that has just ended may keep its connection. */
const PATIENCE_MS = 3_000
const LOOK_AGAIN_MS = 100

/**
 * Locks the root key until the transaction ends.
 * @throws StartupError while another process works on the root key or uses the database
 */
export async function requireAlone(tx: TenantTx, clock: Time): Promise<void> {
  if (!(await tryLockUntilEnd(tx, 'rootKey')))
    throw new StartupError('The root key is being rotated, or a service is just starting.')
  for (const until = clock.monotonic() + PATIENCE_MS; ; await clock.delay(LOOK_AGAIN_MS)) {
    const others = await store.otherSessions(tx)
    if (others.length === 0) return
    if (clock.monotonic() < until) continue
    const names = others.map(
      ({ pid, address, since }) => `${address ?? 'this machine'} (PID ${pid}, since ${since})`,
    )
    throw new StartupError(
      `Wardkeep is at work on this database, by connections from ${names.join(', ')}: stop every node and command first.`,
    )
  }
}
