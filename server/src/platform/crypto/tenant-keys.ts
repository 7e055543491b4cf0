/** A tenant's data keys, opened: they seal, open and make blind-index tokens without waiting. */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import {
  joined,
  keyOf,
  keysFrom,
  nameOf,
  openSealingKey,
  type Place,
  type SealingKey,
  UnreadableError,
} from './seal.ts'

const TOKEN_BYTES = 16

/** A blind-index token: found by equality, and by nothing else. */
export interface Token {
  keyId: number
  /** 16 bytes. */
  token: Buffer
}

export interface TenantKeys {
  readonly tenantId: number
  /** The data key that seals; 0 while there is none. */
  readonly currentId: number
  seal(secret: Uint8Array | string, place: Place): Buffer
  /** @throws UnreadableError when the tenant, the place, the key or a byte differs */
  open(sealed: Uint8Array, place: Place): Buffer
  /**
   * The tokens of a normalised text, one by each of these keys: the current one's, then in a rotation that
   * of the key before.
   * @param kind table and field: equal texts of two kinds have different tokens
   * @param by all living keys by default
   */
  tokens(kind: string, text: string, by?: 'living' | 'current'): Token[]
}

/** A data key, unwrapped. */
export interface DataKey {
  id: number
  sealing: SealingKey
  index: KeyObject
}

/** @param key 32 bytes */
export function openDataKey(id: number, key: Uint8Array): DataKey {
  const index = createSecretKey(keysFrom(key)('blind index'))
  return { id, sealing: openSealingKey(key, nameOf(id)), index }
}

/**
 * @param keys the current one first
 * @param onNewer called with the id of a key that was made after all of these. Throws where there may be
 *   such a key
 */
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
      // Never one key after the other: GCM does not commit to its key.
      const name = keyOf(sealed)
      if (name?.length !== 8) throw new UnreadableError(place, 'it names no data key')
      const id = Number(name.readBigUInt64BE())
      const key = byId.get(id)
      if (!key && id > newest) onNewer(id)
      if (!key) throw new UnreadableError(place, `data key ${id} of tenant ${tenantId} is gone`)
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
