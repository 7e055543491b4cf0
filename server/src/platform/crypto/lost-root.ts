/** The last resort after the root key is lost: delete what nobody can decrypt. */
import { StartupError } from '../../lib/startup-error.ts'
import type { Scopes, TenantTx } from '../db/index.ts'
import { requireAlone } from './require-alone.ts'
import type { RootKeySource } from './root-key.ts'
import { findCurrent } from './root-keys.store.ts'
import { fingerprintOf } from './seal.ts'

/**
 * Runs `discard` in one transaction if none of the given keys is the database's root key. Afterwards the
 * service starts with a new one.
 * @throws StartupError if a given key decrypts the database, or other processes use it
 */
export function discardSealed(
  db: Scopes,
  source: RootKeySource,
  discard: (tx: TenantTx) => Promise<void>,
): Promise<void> {
  return db.acrossTenants(async (tx) => {
    await requireAlone(tx, db.clock)
    const named = await findCurrent(tx)
    const given = await source.given()
    if (!named || given.some(({ key }) => fingerprintOf(key) === named))
      throw new StartupError('The root key decrypts this database. Nothing has to be deleted.')
    await discard(tx)
  })
}
