/** Rotates the key-encryption key and the data keys, and destroys the retired keys (ADR 0022). */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { TenantTx } from '../db/index.ts'
import { dataKeyPlace, KEY_BYTES, kekPlace } from './key-ring.ts'
import * as store from './key-rotation.store.ts'
import { insertKek, newKekId } from './keys.store.ts'
import { keyNameOf, openSealingKey, type Sealer, type SealingKey } from './seal.ts'

export interface KeyRotation {
  /**
   * Creates a key-encryption key from `key` (32 bytes, generated if omitted) and a new data key for each tenant that
   * has one. Wraps all data keys and retires the previous keys in one transaction. Returns undefined if `key` is
   * already in use.
   */
  begin(tx: TenantTx, key?: Buffer): Promise<number | undefined>
  /** Destroys all retired keys. @throws a foreign key error while a row still refers to one of them */
  end(tx: TenantTx): Promise<void>
}

export function keyRotation(root: Sealer): KeyRotation {
  const open = (kek: { id: number; wrapped_key: Buffer }) =>
    root.open(kek.wrapped_key, kekPlace(kek.id))

  /** Wraps all data keys with key `id`, including keys of nodes that do not know of the rotation yet. */
  async function wrapAll(tx: TenantTx, id: number, keks: Map<number, SealingKey>): Promise<void> {
    const wrapped = await store.listWrappedByOthers(tx, id)
    const kek = keks.get(id) as SealingKey
    const keys = wrapped.map((key) => {
      const place = dataKeyPlace(key.tenant_id)
      const opened = (keks.get(key.kek_id) as SealingKey).open(key.wrapped_key, place)
      return { id: key.id, wrapped_key: kek.seal(opened, place) }
    })
    await store.rewrap(tx, id, keys)
  }

  return {
    async begin(tx, key = randomBytes(KEY_BYTES)) {
      const known = (await store.lockKeks(tx)).map((kek) => ({ id: kek.id, key: open(kek) }))
      if (known.some((kek) => timingSafeEqual(kek.key, key))) return undefined
      const id = await newKekId(tx)
      await store.retireKek(tx)
      await insertKek(tx, id, root.seal(key, kekPlace(id)))
      const keks = new Map(
        [...known, { id, key }].map((kek) => [kek.id, openSealingKey(kek.key, keyNameOf(kek.id))]),
      )
      await wrapAll(tx, id, keks)
      const tenants = await store.retireDataKeys(tx)
      const made = tenants.map((tenantId) => ({
        tenantId,
        wrapped: (keks.get(id) as SealingKey).seal(randomBytes(KEY_BYTES), dataKeyPlace(tenantId)),
      }))
      await store.insertDataKeys(tx, id, made)
      tx.invalidate('keys')
      return id
    },
    async end(tx) {
      const rows = await store.lockKeks(tx)
      const current = rows.find(({ retired_at }) => retired_at === null)
      if (!current) throw new Error('no key-encryption key')
      await wrapAll(
        tx,
        current.id,
        new Map(rows.map((kek) => [kek.id, openSealingKey(open(kek), keyNameOf(kek.id))])),
      )
      await store.deleteRetiredKeys(tx)
      tx.invalidate('keys')
    },
  }
}
