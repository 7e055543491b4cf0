/** Another root key in the place of the current one: all that it seals, in one transaction (ADR 0028). */
import { StartupError } from '../../lib/startup-error.ts'
import type { Scopes, TenantTx } from '../db/index.ts'
import { append, SYSTEM } from '../journal/index.ts'
import { requireAlone } from './require-alone.ts'
import type { GivenKey, RootKeySource } from './root-key.ts'
import * as store from './root-keys.store.ts'
import { type FoundRoot, findRoot, openRootKeys } from './root-keys.ts'
import { type RootSealed, rootPlace, SEALED_ROOT_KEY } from './root-sealed.ts'
import { sealAnew } from './root-sealing.ts'
import { openSealer, type Sealer } from './seal.ts'

export interface RootRotation {
  source: RootKeySource
  /** The key that is to come. */
  next(): Promise<GivenKey>
  /** All that the root key seals. */
  sealed: readonly RootSealed[]
  /** Whose the journal's entry is: the tenant whose webhooks are to hear of it. */
  findPlatformTenant(tx: TenantTx): Promise<{ id: number } | undefined>
  onProgress(line: string): void
}

export interface RotatedRoot {
  /** Null where the next key is the current one already. */
  former: string | null
  current: string
  /** What does not open, and so is left as it is. */
  unreadable: readonly string[]
}

/**
 * Puts the next root key in the place of the current one, and keeps that one, sealed.
 * @throws StartupError where other processes use the database, or the key was in use before
 */
export async function rotateRoot(db: Scopes, rotation: RootRotation): Promise<RotatedRoot> {
  const { source, next, onProgress } = rotation
  const rotated = await db.acrossTenants(async (tx) => {
    await requireAlone(tx, db.clock)
    const found = await findRoot(tx, source)
    const { key } = await next()
    const sealer = openSealer(key)
    const { fingerprint: former } = found.sealer
    if (sealer.fingerprint === former) return { former: null, current: former, unreadable: [] }
    if (await store.isKnown(tx, sealer.fingerprint))
      throw new StartupError(
        `ENCRYPTION_KEY_NEXT: root key ${sealer.fingerprint} was in use before; make a new one.`,
      )
    const unreadable = await replace(tx, found, sealer, rotation)
    return { former, current: sealer.fingerprint, unreadable }
  })
  onProgress(`The database needs root key ${rotated.current} from now on.`)
  // As each start does: the folder's own files follow the database.
  await openRootKeys(db, source)
  return rotated
}

/** Seals all of it anew, and keeps the key before. Returns what does not open. */
async function replace(
  tx: TenantTx,
  { root, sealer: old }: FoundRoot,
  fresh: Sealer,
  { sealed, findPlatformTenant, onProgress }: RootRotation,
): Promise<string[]> {
  const unreadable: string[] = []
  for (const column of sealed) {
    const { count, left } = await sealAnew(tx, column, { from: old, to: fresh })
    unreadable.push(...left)
    if (count > 0) onProgress(`${column.table}: ${count} sealed anew`)
  }
  const former = old.fingerprint
  await store.retire(tx, fresh.seal(root.key, rootPlace(SEALED_ROOT_KEY, former)))
  await store.insert(tx, fresh.fingerprint)
  await append(tx, SYSTEM, {
    action: 'encryption.root_key_rotated',
    tenant_id: (await findPlatformTenant(tx))?.id ?? null,
    resource_type: 'encryption',
    resource_id: fresh.fingerprint,
    changes: { before: { root_key: former }, after: { root_key: fresh.fingerprint } },
  })
  return unreadable
}
