/** The last resort after the root key is lost: delete what nobody can decrypt. */
import { StartupError } from '../../lib/startup-error.ts'
import type { Scopes, TenantTx } from '../db/index.ts'
import { append, SYSTEM } from '../journal/index.ts'
import { requireAlone } from './require-alone.ts'
import type { RootKeySource } from './root-key.ts'
import { findCurrent } from './root-keys.store.ts'
import { fingerprintOf } from './seal.ts'

export interface Discarding {
  source: RootKeySource
  /** The fingerprint of the lost key, by which the operator confirms; undefined to ask for it. */
  confirmed: string | undefined
  discard(tx: TenantTx): Promise<void>
  /** Returns the tenant whose webhooks receive the event. */
  findPlatformTenant(tx: TenantTx): Promise<{ id: number } | undefined>
}

/**
 * Runs `discard` in one transaction if none of the given keys is the database's root key. Afterwards the
 * service starts with a new one.
 * @throws StartupError if a given key decrypts the database, the lost key is not confirmed, or other processes
 * use the database
 */
export function discardSealed(
  db: Scopes,
  { source, confirmed, discard, findPlatformTenant }: Discarding,
): Promise<void> {
  return db.acrossTenants(async (tx) => {
    await requireAlone(tx, db.clock)
    const lost = await findCurrent(tx)
    if (!lost)
      throw new StartupError('The database names no root key. Start the service with a new one.')
    const given = (await source.given()).map(({ key }) => fingerprintOf(key))
    if (given.includes(lost))
      throw new StartupError(
        `Root key ${lost} is given and decrypts this database. Nothing has to be deleted.`,
      )
    if (confirmed !== lost) throw new StartupError(...warning(lost, given))
    await discard(tx)
    await append(tx, SYSTEM, {
      action: 'encryption.root_key_destroyed',
      tenant_id: (await findPlatformTenant(tx))?.id ?? null,
      resource_type: 'encryption',
      resource_id: lost,
      changes: { root_key: lost, reason: 'lost' },
    })
  })
}

const warning = (lost: string, given: readonly string[]): string[] => [
  `The database needs root key ${lost}. Given: ${given.length === 0 ? 'none' : given.join(', ')}.`,
  'This deletes all patients, webhooks, second factors, linked chats and payment notifications.',
  `Keep a copy of the database, then run: wardkeep keys abandon ${lost}`,
]
