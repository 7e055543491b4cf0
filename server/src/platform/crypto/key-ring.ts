/**
 * The keys of a tenant's fields. The root key wraps a key-encryption key, which wraps one data key per tenant (two
 * during a rotation). The data keys encrypt the fields (ADR 0012, 0020).
 */
import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Changes, Outpaced, parseTopic, type Scopes, type TenantTx } from '../db/index.ts'
import * as store from './keys.store.ts'
import { mustOpen } from './root-key.ts'
import { rootPlace, SEALED_KEK } from './root-sealed.ts'
import {
  keyNameOf,
  openSealingKey,
  type SealedPlace,
  type Sealer,
  type SealingKey,
} from './seal.ts'
import { type DataKey, openDataKey, type TenantKeys, tenantKeys } from './tenant-keys.ts'

export const KEY_BYTES = 32

export interface KeyRing {
  /** Returns a tenant's keys for reading. Without keys, decryption fails and the list of tokens is empty. */
  ofTenant(tx: TenantTx, tenantId: number): Promise<TenantKeys>
  /** Returns a tenant's keys for writing. Creates the first key if the tenant has none. */
  forWriting(tx: TenantTx, tenantId: number): Promise<TenantKeys>
}

/**
 * Opens the key ring, or creates it. Caches keys only while change notifications are reliable. @throws StartupError if
 * the given root key does not decrypt the key-encryption key
 */
export async function openKeyRing(
  db: Scopes,
  root: Sealer,
  changes: Pick<Changes, 'subscribe' | 'trusted'>,
): Promise<KeyRing> {
  const shared = new LRUCache<number, TenantKeys>({ max: 5_000 })
  const ofTx = new WeakMap<TenantTx, Map<number, Promise<TenantKeys>>>()
  /** When the cache was last cleared. A transaction that began earlier may have read outdated keys. */
  let forgottenAt = Number.NEGATIVE_INFINITY
  /** When each missing key was first requested. The map's keys are `tenantId:keyId`. */
  const missed = new LRUCache<string, number>({ max: 1_000 })

  const openKek = kekOpener(root)

  await db.acrossTenants(async (tx) => {
    const kek = await store.findCurrentKek(tx)
    if (kek) return void mustOpen(() => openKek(kek))
    const id = await store.newKekId(tx)
    await store.insertKek(tx, id, root.seal(randomBytes(KEY_BYTES), kekPlace(id)))
  })

  function forget(tenantId?: number): void {
    forgottenAt = db.clock.monotonic()
    if (tenantId === undefined) shared.clear()
    else shared.delete(tenantId)
  }

  /** Reads the keys from the database. Caches them for other transactions once this one has committed. */
  async function read(tx: TenantTx, tenantId: number): Promise<TenantKeys> {
    const { begunAt } = tx
    const rows = await store.listDataKeys(tx, tenantId)
    const keys = openStoredKeys(root, tenantId, rows, (id) => {
      const name = `${tenantId}:${id}`
      // An earlier transaction did not find this key either, so reading the keys again would not help.
      if ((missed.get(name) ?? Number.POSITIVE_INFINITY) < begunAt) return
      missed.set(name, db.clock.monotonic())
      forget(tenantId)
      throw new Outpaced(`data key ${id} of tenant ${tenantId} is not loaded yet`)
    })
    tx.afterCommit(() => {
      if (keys.currentId !== 0 && begunAt > forgottenAt) shared.set(tenantId, keys)
    })
    return keys
  }

  async function readOrMake(tx: TenantTx, tenantId: number): Promise<TenantKeys> {
    const kek = await store.findCurrentKek(tx)
    if (!kek) throw new Error('no key-encryption key')
    await store.insertDataKey(tx, {
      tenant_id: tenantId,
      key_encryption_key_id: kek.id,
      wrapped_key: openKek(kek).seal(randomBytes(KEY_BYTES), dataKeyPlace(tenantId)),
    })
    return read(tx, tenantId)
  }

  /** Returns the keys that this transaction has already read, otherwise the cached keys, otherwise undefined. */
  function known(tx: TenantTx, tenantId: number): Promise<TenantKeys> | undefined {
    const own = ofTx.get(tx)?.get(tenantId)
    const kept = own || !changes.trusted() ? undefined : shared.get(tenantId)
    return own ?? (kept && Promise.resolve(kept))
  }

  function remember(tx: TenantTx, tenantId: number, keys: Promise<TenantKeys>) {
    const all = ofTx.get(tx) ?? new Map<number, Promise<TenantKeys>>()
    ofTx.set(tx, all.set(tenantId, keys))
    return keys
  }

  const ofTenant = (tx: TenantTx, tenantId: number) =>
    known(tx, tenantId) ?? remember(tx, tenantId, read(tx, tenantId))

  changes.subscribe((topic) => {
    if (topic === null || topic === 'keys') return forget()
    const { kind, number } = parseTopic(topic)
    if (kind === 'tenant') forget(number)
  })

  return {
    ofTenant,
    async forWriting(tx, tenantId) {
      const keys = await ofTenant(tx, tenantId)
      if (keys.currentId !== 0) return keys
      return remember(tx, tenantId, readOrMake(tx, tenantId))
    },
  }
}

const kekOpener =
  (root: Sealer) =>
  ({ id, wrapped_key }: { id: number; wrapped_key: Buffer }): SealingKey =>
    openSealingKey(root.open(wrapped_key, kekPlace(id)), keyNameOf(id))

/** A data key and the key-encryption key that wraps it, as stored in the database. */
export interface WrappedKey {
  id: number
  wrapped_key: Buffer
  kek_id: number
  wrapped_kek: Buffer
}

export interface StoredKey extends WrappedKey {
  retired_at: string | null
}

/**
 * Decrypts all data keys of a tenant. @param onNewer see `tenantKeys` @throws UnreadableError if a key is unreadable
 */
export function openStoredKeys(
  root: Sealer,
  tenantId: number,
  rows: readonly StoredKey[],
  onNewer: (id: number) => void,
): TenantKeys {
  const opened = rows.map((row) => openStoredKey(root, tenantId, row))
  const current = rows.find(({ retired_at }) => retired_at === null)
  return tenantKeys(tenantId, opened, current?.id ?? 0, onNewer)
}

/** Decrypts one data key. @throws UnreadableError with the name of the unreadable key: this one, or its wrapping key */
export function openStoredKey(root: Sealer, tenantId: number, stored: WrappedKey): DataKey {
  const kek = kekOpener(root)({ id: stored.kek_id, wrapped_key: stored.wrapped_kek })
  return openDataKey(stored.id, kek.open(stored.wrapped_key, dataKeyPlace(tenantId)))
}

export const kekPlace = (id: number): SealedPlace => rootPlace(SEALED_KEK, id)
export const dataKeyPlace = (tenantId: number): SealedPlace => ({
  table: 'data_keys',
  column: 'wrapped_key',
  row: tenantId,
})
