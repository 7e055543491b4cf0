/**
 * XAES-256-GCM (c2sp.org/XAES-256-GCM): a key and nonce for AES-256-GCM are derived from a nonce of 24
 * random bytes, so that one key may seal any number of messages.
 */
import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto'

export const NONCE_BYTES = 24
export const TAG_BYTES = 16

const BLOCK_BYTES = 16
const NO_BYTES = Buffer.alloc(0)
/** The half of the nonce that the key is derived from; AES-GCM gets the other. */
export const HALF_BYTES = 12
/** Derived keys that are kept, as what was sealed together is opened together: few, as there may be thousands of keys. */
const KEPT_KEYS = 8

export interface Xaes {
  /**
   * @param nonce 24 bytes, never twice under the key
   * @param head what stands before the ciphertext in the bytes that are returned
   * @returns head, ciphertext and tag
   */
  seal(nonce: Uint8Array, text: Uint8Array, aad: Uint8Array, head?: Uint8Array): Buffer
  /** @throws Error when the key, the nonce, the associated data or a byte differs */
  open(nonce: Uint8Array, sealed: Uint8Array, aad: Uint8Array): Buffer
}

/** @param key of 32 bytes */
export function openXaes(key: KeyObject): Xaes {
  // ECB keeps nothing from block to block: one cipher, made once, derives the keys of all messages.
  const block = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false)
  const k1 = doubled(block.update(Buffer.alloc(BLOCK_BYTES)))
  const kept = new Map<string, KeyObject>()

  /** The key of all nonces with the same first half; deriving it takes longer than to seal a short text. */
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

  /** CMAC of two messages of one block each (NIST SP 800-108r1, 4.1; SP 800-38B, 6.2). */
  function derive(nonce: Uint8Array): KeyObject {
    const blocks = Buffer.alloc(2 * BLOCK_BYTES)
    for (const counter of [1, 2]) {
      const start = (counter - 1) * BLOCK_BYTES
      blocks.set([0, counter, 0x58, 0], start)
      blocks.set(nonce.subarray(0, HALF_BYTES), start + 4)
      for (let at = 0; at < BLOCK_BYTES; at += 1)
        blocks[start + at] = (blocks[start + at] as number) ^ (k1[at] as number)
    }
    // As bytes it would be made a key object by each call, and in a slower way.
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

/** The subkey of CMAC: twice the block in the field of 2^128 (NIST SP 800-38B, 6.1). */
function doubled(block: Buffer): Buffer {
  const shifted = (BigInt(`0x${block.toString('hex')}`) << 1n) & ((1n << 128n) - 1n)
  const reduced = (block[0] as number) & 0x80 ? shifted ^ 0x87n : shifted
  return Buffer.from(reduced.toString(16).padStart(2 * BLOCK_BYTES, '0'), 'hex')
}
