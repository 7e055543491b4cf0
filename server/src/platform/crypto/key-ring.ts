/**
 * The keys of a tenant's sealed fields: the root key wraps a key-encryption key, that wraps a data key of
 * each tenant (two while keys rotate), and data keys seal fields (ADR 0012, 0020).
 */
import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Changes, Outpaced, parseTopic, type Scopes, type TenantTx } from '../db/index.ts'
import * as store from './keys.store.ts'
import { mustOpen } from './root-key.ts'
import { rootPlace, SEALED_KEK } from './root-sealed.ts'
import { nameOf, openSealingKey, type Place, type Sealer, type SealingKey } from './seal.ts'
import { type DataKey, openDataKey, type TenantKeys, tenantKeys } from './tenant-keys.ts'

export const KEY_BYTES = 32

export interface KeyRing {
  /** A tenant's keys for reading: where it has none yet, nothing opens and there are no tokens. */
  ofTenant(tx: TenantTx, tenantId: number): Promise<TenantKeys>
  /** A tenant's keys for writing: its first is made where it has none. */
  forWriting(tx: TenantTx, tenantId: number): Promise<TenantKeys>
}

/**
 * Opens the ring, and makes the first key-encryption key where there is none. Keys are kept in memory for
 * as long as it is sure that changes are heard of.
 * @throws StartupError when the root key is another than the one that wraps the keys
 */
export async function openKeyRing(
  db: Scopes,
  root: Sealer,
  changes: Pick<Changes, 'subscribe' | 'trusted'>,
): Promise<KeyRing> {
  const shared = new LRUCache<number, TenantKeys>({ max: 5_000 })
  const ofTx = new WeakMap<TenantTx, Map<number, Promise<TenantKeys>>>()
  /** When keys were last let go of: what a transaction has read that had begun before may be outdated. */
  let forgottenAt = Number.NEGATIVE_INFINITY
  /** Since when it is known that a tenant's key was asked for that was not there. */
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

  /** Read anew, and for others once all of it is committed. */
  async function read(tx: TenantTx, tenantId: number): Promise<TenantKeys> {
    const { begunAt } = tx
    const rows = await store.listDataKeys(tx, tenantId)
    const keys = openStoredKeys(root, tenantId, rows, (id) => {
      const name = `${tenantId}:${id}`
      // Asked for before, and not there when these were read.
      if ((missed.get(name) ?? Number.POSITIVE_INFINITY) < begunAt) return
      missed.set(name, db.clock.monotonic())
      forget(tenantId)
      throw new Outpaced(`data key ${id} of tenant ${tenantId} is not known yet`)
    })
    tx.afterCommit(() => {
      if (keys.currentId !== 0 && begunAt > forgottenAt) shared.set(tenantId, keys)
    })
    return keys
  }

  async function readOrMake(tx: TenantTx, tenantId: number): Promise<TenantKeys> {
    const kek = await store.findCurrentKek(tx)
    if (!kek) throw new Error('there is no key-encryption key')
    await store.insertDataKey(tx, {
      tenant_id: tenantId,
      key_encryption_key_id: kek.id,
      wrapped_key: openKek(kek).seal(randomBytes(KEY_BYTES), dataKeyPlace(tenantId)),
    })
    return read(tx, tenantId)
  }

  /** What the transaction has asked for before, or memory has. */
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
    openSealingKey(root.open(wrapped_key, kekPlace(id)), nameOf(id))

/** A data key with what wraps it, as it is stored. */
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
 * Opens the data keys of a tenant.
 * @param onNewer as of `tenantKeys`
 * @throws UnreadableError where one does not open
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

/** Opens one. @throws UnreadableError that names what does not open: itself, or what wraps it */
export function openStoredKey(root: Sealer, tenantId: number, stored: WrappedKey): DataKey {
  const kek = kekOpener(root)({ id: stored.kek_id, wrapped_key: stored.wrapped_kek })
  return openDataKey(stored.id, kek.open(stored.wrapped_key, dataKeyPlace(tenantId)))
}

export const kekPlace = (id: number): Place => rootPlace(SEALED_KEK, id)
export const dataKeyPlace = (tenantId: number): Place => ({
  table: 'data_keys',
  column: 'wrapped_key',
  row: tenantId,
})
