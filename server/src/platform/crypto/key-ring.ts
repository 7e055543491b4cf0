/**
 * The keys of a tenant's sealed fields: the root key wraps a key-encryption key, that wraps one data
 * key a tenant, and data keys seal fields, each bound to its table, column and row (decisions §8).
 * What is sealed names its data key, so that old and new keys can live side by side.
 */
import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Changes, parseTopic, type Scopes, type TenantTx } from '../db/index.ts'
import * as store from './keys.store.ts'
import { otherRootKey } from './root-key.ts'
import { openSealer, type Sealer } from './seal.ts'

const KEY_BYTES = 32
const ID_BYTES = 8
const FIRST_KEK = 1

export interface KeyRing {
  /** Seals a field of the tenant. @param place table, column and row, `second_factors.secret:7` */
  seal(tx: TenantTx, tenantId: number, secret: Uint8Array, place: string): Promise<Buffer>
  /** @throws Error when the tenant, the place or a byte differs */
  open(tx: TenantTx, tenantId: number, sealed: Uint8Array, place: string): Promise<Buffer>
  /** Lets go of a tenant's opened keys, of all without one: a destroyed key must be in no memory. */
  forget(tenantId?: number): void
}

interface DataKey {
  id: number
  sealer: Sealer
}

/**
 * Opens the ring, and makes the first key-encryption key where there is none.
 * @param changes say which tenant's opened keys are to be let go of
 */
export async function openKeyRing(
  db: Scopes,
  root: Sealer,
  changes?: Pick<Changes, 'subscribe'>,
): Promise<KeyRing> {
  // Opened keys by tenant and id, and `current` for the one that seals. They change by rotation only.
  const opened = new LRUCache<string, DataKey>({ max: 5_000 })
  const keks = new Map<number, Sealer>()

  await db.acrossTenants(async (tx) => {
    const kek = await store.findCurrentKek(tx)
    // Opened now, so that another root key is noticed at the start and not by the first user.
    if (kek) return void openKek(kek)
    await store.insertKek(tx, FIRST_KEK, root.seal(randomBytes(KEY_BYTES), kekPlace(FIRST_KEK)))
  })

  function openKek(kek: { id: number; wrapped_key: Buffer }): Sealer {
    const known = keks.get(kek.id)
    if (known) return known
    try {
      const opened = openSealer(root.open(kek.wrapped_key, kekPlace(kek.id)))
      keks.set(kek.id, opened)
      return opened
    } catch {
      throw otherRootKey()
    }
  }

  async function load(
    tx: TenantTx,
    tenantId: number,
    id: number | null,
  ): Promise<DataKey | undefined> {
    const row = await store.findDataKey(tx, tenantId, id)
    if (!row) return undefined
    const kek =
      keks.get(row.key_encryption_key_id) ?? (await loadKek(tx, row.key_encryption_key_id))
    return { id: row.id, sealer: openSealer(kek.open(row.wrapped_key, dataKeyPlace(tenantId))) }
  }

  async function loadKek(tx: TenantTx, id: number): Promise<Sealer> {
    const row = await store.findKek(tx, id)
    if (!row) throw new Error(`key-encryption key ${id} is gone`)
    return openKek(row)
  }

  async function current(tx: TenantTx, tenantId: number): Promise<DataKey> {
    const known = opened.get(`${tenantId}:current`)
    if (known) return known
    let key = await load(tx, tenantId, null)
    if (!key) {
      const kek = await store.findCurrentKek(tx)
      if (!kek) throw new Error('there is no key-encryption key')
      const wrapped = openKek(kek).seal(randomBytes(KEY_BYTES), dataKeyPlace(tenantId))
      await store.insertDataKey(tx, {
        tenant_id: tenantId,
        key_encryption_key_id: kek.id,
        wrapped_key: wrapped,
      })
      key = await load(tx, tenantId, null)
    }
    if (!key) throw new Error(`tenant ${tenantId} has no data key`)
    const made = key
    // Only a key that is committed may be kept for others.
    tx.afterCommit(() => void opened.set(`${tenantId}:current`, made))
    return key
  }

  function forget(tenantId?: number): void {
    const prefix = tenantId === undefined ? '' : `${tenantId}:`
    for (const name of [...opened.keys()]) if (name.startsWith(prefix)) opened.delete(name)
  }

  changes?.subscribe((topic) => {
    if (topic === null) return forget()
    const { kind, number } = parseTopic(topic)
    if (kind === 'tenant' && number !== undefined) forget(number)
  })

  return {
    async seal(tx, tenantId, secret, place) {
      const { id, sealer } = await current(tx, tenantId)
      const name = Buffer.alloc(ID_BYTES)
      name.writeBigUInt64BE(BigInt(id))
      return Buffer.concat([name, sealer.seal(secret, place)])
    },
    async open(tx, tenantId, sealed, place) {
      const bytes = Buffer.from(sealed)
      const id = Number(bytes.readBigUInt64BE())
      const cached = opened.get(`${tenantId}:${id}`)
      const key = cached ?? (await load(tx, tenantId, id))
      if (!key) throw new Error(`data key ${id} of tenant ${tenantId} is gone`)
      if (!cached) tx.afterCommit(() => void opened.set(`${tenantId}:${id}`, key))
      return key.sealer.open(bytes.subarray(ID_BYTES), place)
    },
    forget,
  }
}

const kekPlace = (id: number) => `key_encryption_keys.wrapped_key:${id}`
const dataKeyPlace = (tenantId: number) => `data_keys.wrapped_key:${tenantId}`
