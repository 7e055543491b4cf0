/** Deletes all data that can no longer be decrypted. This is the last resort after the root key was lost. */
import { StartupError } from '../../lib/startup-error.ts'
import type { Scopes, TenantTx } from '../db/index.ts'
import { append, SYSTEM } from '../journal/index.ts'
import { requireAlone } from './require-alone.ts'
import type { RootKeySource } from './root-key.ts'
import { findCurrent } from './root-keys.store.ts'
import { fingerprintOf } from './seal.ts'

export interface Discarding {
  source: RootKeySource
  /** The fingerprint of the lost key. If undefined, the error message asks the operator for it. */
  confirmed: string | undefined
  discard(tx: TenantTx): Promise<void>
  /** Returns the tenant whose webhooks receive the event. Returns null if there is none. */
  eventTenantId(tx: TenantTx): Promise<number | null>
}

/**
 * Runs `discard` in one transaction if no configured key is the root key. The service then starts with a new one.
 * @throws StartupError if a key decrypts the database, the loss is not confirmed, or other processes run
 */
export function discardSealed(
  db: Scopes,
  { source, confirmed, discard, eventTenantId }: Discarding,
): Promise<void> {
  return db.acrossTenants(async (tx) => {
    await requireAlone(tx, db.clock)
    const lost = await findCurrent(tx)
    if (!lost)
      throw new StartupError(
        'The database does not use a root key yet. Start the service with a new root key.',
      )
    const given = (await source.given()).map(({ key }) => fingerprintOf(key))
    if (given.includes(lost))
      throw new StartupError(
        `Root key ${lost} is configured and decrypts this database. Nothing was deleted.`,
      )
    if (confirmed !== lost) throw new StartupError(...warning(lost, given))
    await discard(tx)
    await append(tx, SYSTEM, {
      action: 'encryption.root_key_destroyed',
      tenant_id: await eventTenantId(tx),
      resource_type: 'encryption',
      resource_id: lost,
      changes: { root_key: lost, reason: 'lost' },
    })
  })
}

const warning = (lost: string, given: readonly string[]): string[] => [
  `The database requires root key ${lost}. Configured: ${given.length === 0 ? 'none' : given.join(', ')}.`,
  'This deletes all patients, webhooks, second factors, linked chats and payment notifications.',
  `Keep a copy of the database, then run: wardkeep keys abandon ${lost}`,
]
