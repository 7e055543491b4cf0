/**
 * Implements XAES-256-GCM (c2sp.org/XAES-256-GCM): AES-256-GCM with a key and a nonce derived from 24 random bytes. One
 * key can therefore encrypt any number of messages.
 */
import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto'

export const NONCE_BYTES = 24
export const TAG_BYTES = 16

const BLOCK_BYTES = 16
const NO_BYTES = Buffer.alloc(0)
/** Bytes in each half of the nonce. The first half derives the key; the second is the nonce of AES-GCM. */
export const HALF_BYTES = 12
/** Maximum number of cached derived keys. A few suffice, because values encrypted together are decrypted together. */
const KEPT_KEYS = 8

export interface Xaes {
  /** Encrypts a text. Returns head, ciphertext and tag. @param nonce 24 bytes, never used twice with the same key */
  seal(nonce: Uint8Array, text: Uint8Array, aad: Uint8Array, head?: Uint8Array): Buffer
  /** Decrypts a text. @throws Error if the key, the nonce, the associated data or a byte differs */
  open(nonce: Uint8Array, sealed: Uint8Array, aad: Uint8Array): Buffer
}

/** @param key a secret key of 32 bytes */
export function openXaes(key: KeyObject): Xaes {
  // ECB has no state between blocks, so one cipher can derive the keys of all messages.
  const block = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false)
  const k1 = doubled(block.update(Buffer.alloc(BLOCK_BYTES)))
  const kept = new Map<string, KeyObject>()

  /** Returns the key for nonces with this first half. Cached, because deriving takes longer than encrypting. */
  function messageKey(nonce: Uint8Array): KeyObject {
    const half = Buffer.from(nonce.buffer, nonce.byteOffset, HALF_BYTES).toString('latin1')
    const known = kept.get(half)
    if (known) return known
    const [oldest] = kept.keys()
    if (oldest !== undefined && kept.size >= KEPT_KEYS) kept.delete(oldest)
    const derived = derive(nonce)
    kept.set(half, derived)
    return derived
  }

  /** Computes the CMAC of two one-block messages (NIST SP 800-108r1, 4.1; SP 800-38B, 6.2). */
  function derive(nonce: Uint8Array): KeyObject {
    const blocks = Buffer.alloc(2 * BLOCK_BYTES)
    for (const counter of [1, 2]) {
      const start = (counter - 1) * BLOCK_BYTES
      blocks.set([0, counter, 0x58, 0], start)
      blocks.set(nonce.subarray(0, HALF_BYTES), start + 4)
      for (let at = 0; at < BLOCK_BYTES; at += 1)
        blocks[start + at] = (blocks[start + at] as number) ^ (k1[at] as number)
    }
    // Creates a key object. With plain bytes, each cipher would create one, which is slower.
    return createSecretKey(block.update(blocks))
  }

  return {
    seal(nonce, text, aad, head = NO_BYTES) {
      const cipher = createCipheriv('aes-256-gcm', messageKey(nonce), nonce.subarray(HALF_BYTES))
      cipher.setAAD(aad)
      const sealed = Buffer.allocUnsafe(head.length + text.length + TAG_BYTES)
      sealed.set(head)
      sealed.set(cipher.update(text), head.length)
      cipher.final()
      sealed.set(cipher.getAuthTag(), head.length + text.length)
      return sealed
    },
    open(nonce, sealed, aad) {
      const decipher = createDecipheriv(
        'aes-256-gcm',
        messageKey(nonce),
        nonce.subarray(HALF_BYTES),
        { authTagLength: TAG_BYTES },
      )
      decipher.setAAD(aad).setAuthTag(sealed.subarray(-TAG_BYTES))
      const text = decipher.update(sealed.subarray(0, -TAG_BYTES))
      decipher.final()
      return text
    },
  }
}

/** Returns the CMAC subkey: the block doubled in the field GF(2^128) (NIST SP 800-38B, 6.1). */
function doubled(block: Buffer): Buffer {
  const shifted = (BigInt(`0x${block.toString('hex')}`) << 1n) & ((1n << 128n) - 1n)
  const reduced = (block[0] as number) & 0x80 ? shifted ^ 0x87n : shifted
  return Buffer.from(reduced.toString(16).padStart(2 * BLOCK_BYTES, '0'), 'hex')
}
