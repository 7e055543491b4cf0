/** Ensures that no other process uses the database while the root key changes, because each process caches it. */
import { StartupError } from '../../lib/startup-error.ts'
import type { Time } from '../../lib/time.ts'
import { type TenantTx, tryLockUntilEnd } from '../db/index.ts'
import * as store from './root-keys.store.ts'

/** How long to wait for the database connections of a process that has just ended. */
const PATIENCE_MS = 3_000
const RETRY_MS = 100

/**
 * Locks the root key until the transaction ends. @throws StartupError if another process uses the key or the database
 */
export async function requireAlone(tx: TenantTx, clock: Time): Promise<void> {
  if (!(await tryLockUntilEnd(tx, 'rootKey')))
    throw new StartupError(
      'The root key is being rotated, or a service is starting. Wait until that ends and try again.',
    )
  for (const until = clock.monotonic() + PATIENCE_MS; ; await clock.delay(RETRY_MS)) {
    const others = await store.otherSessions(tx)
    if (others.length === 0) return
    if (clock.monotonic() < until) continue
    const names = others.map(
      ({ pid, address, since }) => `${address ?? 'this machine'} (PID ${pid}, since ${since})`,
    )
    throw new StartupError(
      `Wardkeep is running on this database, with connections from ${names.join(', ')}. Stop every node and command first.`,
    )
  }
}
