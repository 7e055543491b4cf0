/** A tenant's decrypted data keys. They encrypt, decrypt and create blind-index tokens synchronously. */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import {
  joined,
  keyNameOf,
  keysFrom,
  openSealingKey,
  type SealedPlace,
  type SealingKey,
  sealingKeyOf,
  UnreadableError,
} from './seal.ts'

const TOKEN_BYTES = 16

/** A token of a blind index. The index supports only equality searches in encrypted fields. */
export interface Token {
  keyId: number
  token: Buffer
}

export interface TenantKeys {
  readonly tenantId: number
  /** The id of the data key that encrypts new values. It is 0 if the tenant has no data key. */
  readonly currentId: number
  seal(secret: Uint8Array | string, place: SealedPlace): Buffer
  /** Decrypts a value. @throws UnreadableError if the tenant, the place, the key or a byte differs */
  open(sealed: Uint8Array, place: SealedPlace): Buffer
  /**
   * Returns the tokens of a normalized text, during a rotation also with the previous key. @param kind table and field,
   * which separate equal texts @param by `current` for the current key only
   */
  tokens(kind: string, text: string, by?: 'living' | 'current'): Token[]
}

export interface DataKey {
  id: number
  sealing: SealingKey
  index: KeyObject
}

/** @param key 32 bytes */
export function openDataKey(id: number, key: Uint8Array): DataKey {
  const index = createSecretKey(keysFrom(key)('blind index'))
  return { id, sealing: openSealingKey(key, keyNameOf(id)), index }
}

/** @param keys the current one first @param onNewer called with the id of a newer key; throws if it may exist */
export function tenantKeys(
  tenantId: number,
  keys: readonly DataKey[],
  currentId: number,
  onNewer: (id: number) => void,
): TenantKeys {
  const byId = new Map(keys.map((key) => [key.id, key]))
  const newest = Math.max(0, ...byId.keys())
  return {
    tenantId,
    currentId,
    seal(secret, place) {
      const current = byId.get(currentId)
      if (!current) throw new Error(`tenant ${tenantId} has no data key`)
      return current.sealing.seal(secret, place, tenantId)
    },
    open(sealed, place) {
      // Uses only the key that the value names. Trying several keys is unsafe, because GCM does not commit to a key.
      const name = sealingKeyOf(sealed)
      if (name?.length !== 8) throw new UnreadableError(place, 'it does not name a data key')
      const id = Number(name.readBigUInt64BE())
      const key = byId.get(id)
      if (!key && id > newest) onNewer(id)
      if (!key) throw new UnreadableError(place, `data key ${id} of tenant ${tenantId} is missing`)
      return key.sealing.open(sealed, place, tenantId)
    },
    tokens(kind, text, by = 'living') {
      const input = joined(tenantId, kind, text)
      const those = by === 'living' ? keys : keys.filter(({ id }) => id === currentId)
      return those.map(({ id, index }) => ({
        keyId: id,
        token: createHmac('sha256', index).update(input).digest().subarray(0, TOKEN_BYTES),
      }))
    },
  }
}
