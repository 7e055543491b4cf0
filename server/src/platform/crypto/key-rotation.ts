/** New keys in place of those that seal and wrap, and the end of the old ones (ADR 0022). */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { TenantTx } from '../db/index.ts'
import { dataKeyPlace, KEY_BYTES, kekPlace } from './key-ring.ts'
import * as store from './key-rotation.store.ts'
import { insertKek, newKekId } from './keys.store.ts'
import { nameOf, openSealingKey, type Sealer, type SealingKey } from './seal.ts'

export interface KeyRotation {
  /**
   * Makes a key-encryption key of `key` and a data key for each tenant that has one, wraps them all by it,
   * and retires those before: all in the transaction. Returns its id; undefined where the key is in use.
   * @param key 32 bytes; made where there is none
   */
  begin(tx: TenantTx, key?: Buffer): Promise<number | undefined>
  /** Destroys all that is retired. @throws a foreign key's error while a row names one of them */
  end(tx: TenantTx): Promise<void>
}

export function keyRotation(root: Sealer): KeyRotation {
  const open = (kek: { id: number; wrapped_key: Buffer }) =>
    root.open(kek.wrapped_key, kekPlace(kek.id))

  /** Wraps by one key-encryption key what others wrap, be it made just now by a node that has not heard. */
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
        [...known, { id, key }].map((kek) => [kek.id, openSealingKey(kek.key, nameOf(kek.id))]),
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
      if (!current) throw new Error('there is no key-encryption key')
      await wrapAll(
        tx,
        current.id,
        new Map(rows.map((kek) => [kek.id, openSealingKey(open(kek), nameOf(kek.id))])),
      )
      await store.deleteRetired(tx)
      tx.invalidate('keys')
    },
  }
}
