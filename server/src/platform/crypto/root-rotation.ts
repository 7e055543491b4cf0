/** Rotates the root key: re-encrypts all values of the root key in one transaction (ADR 0028). */
import { StartupError } from '../../lib/startup-error.ts'
import type { Scopes, TenantTx } from '../db/index.ts'
import { append, SYSTEM } from '../journal/index.ts'
import { requireAlone } from './require-alone.ts'
import type { ConfiguredKey, RootKeySource } from './root-key.ts'
import * as store from './root-keys.store.ts'
import { type FoundRoot, findRoot, openRootKeys, useEntryKey } from './root-keys.ts'
import { type RootSealed, rootPlace, SEALED_ROOT_KEY } from './root-sealed.ts'
import { resealWithRoot } from './root-sealing.ts'
import { openSealer, type Sealer } from './seal.ts'

export interface RootRotation {
  source: RootKeySource
  next(): Promise<ConfiguredKey>
  /** All columns with values that the root key encrypts. */
  sealed: readonly RootSealed[]
  /** Returns the tenant whose webhooks receive the event. Returns null if there is none. */
  eventTenantId(tx: TenantTx): Promise<number | null>
  onProgress(line: string): void
}

export interface RotatedRoot {
  /** The fingerprint of the replaced key. Null if the new key was already the current one. */
  former: string | null
  current: string
  /** Messages about values that cannot be decrypted. These values are not changed. */
  unreadable: readonly string[]
}

/** Replaces the root key. @throws StartupError if other processes use the database, or the next key was used before */
export async function rotateRoot(db: Scopes, rotation: RootRotation): Promise<RotatedRoot> {
  const { source, next, onProgress } = rotation
  const rotated = await db.acrossTenants(async (tx) => {
    await requireAlone(tx, db.clock)
    const found = await findRoot(tx, source)
    await useEntryKey(tx, found.sealer)
    const { key } = await next()
    const sealer = openSealer(key)
    const { fingerprint: former } = found.sealer
    if (sealer.fingerprint === former) return { former: null, current: former, unreadable: [] }
    if (await store.isKnown(tx, sealer.fingerprint))
      throw new StartupError(
        `ENCRYPTION_KEY_NEXT: root key ${sealer.fingerprint} was already used before. Create a new key.`,
      )
    const unreadable = await replace(tx, found, sealer, rotation)
    return { former, current: sealer.fingerprint, unreadable }
  })
  onProgress(`From now on the database requires root key ${rotated.current}.`)
  // Renames the key files in the data folder to match the database, as every startup does.
  await openRootKeys(db, source)
  return rotated
}

/** Re-encrypts all values and stores the former key. Returns messages about values that cannot be decrypted. */
async function replace(
  tx: TenantTx,
  { root, sealer: old }: FoundRoot,
  fresh: Sealer,
  { sealed, eventTenantId, onProgress }: RootRotation,
): Promise<string[]> {
  const unreadable: string[] = []
  for (const column of sealed) {
    const { count, left } = await resealWithRoot(tx, column, { from: old, to: fresh })
    unreadable.push(...left)
    if (count > 0) onProgress(`${column.table}: ${count} values re-encrypted`)
  }
  const former = old.fingerprint
  await store.retire(tx, fresh.seal(root.key, rootPlace(SEALED_ROOT_KEY, former)))
  await store.insert(tx, fresh.fingerprint)
  await append(tx, SYSTEM, {
    action: 'encryption.root_key_rotated',
    tenant_id: await eventTenantId(tx),
    resource_type: 'encryption',
    resource_id: fresh.fingerprint,
    changes: { before: { root_key: former }, after: { root_key: fresh.fingerprint } },
  })
  return unreadable
}
