/** Seals small secrets at rest with the root key: AES-256-GCM, bound to where they are stored. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const IV_BYTES = 12
const TAG_BYTES = 16
/** First byte of what is sealed, so that the format can change. */
const FORMAT = 1

export interface Sealer {
  /** @param place table, column and row, such as `signing_keys.private_key:abc`; needed to open it */
  seal(secret: Uint8Array, place: string): Buffer
  /** @throws Error when the key or the place differs, or a byte was changed */
  open(sealed: Uint8Array, place: string): Buffer
}

/** @param rootKey 32 bytes; the sealing key is derived from it (HKDF, RFC 5869) */
export function openSealer(rootKey: Uint8Array): Sealer {
  const key = keysFrom(rootKey)('seal')
  return {
    seal(secret, place) {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(place))
      const text = Buffer.concat([cipher.update(secret), cipher.final()])
      return Buffer.concat([Buffer.of(FORMAT), iv, text, cipher.getAuthTag()])
    },
    open(sealed, place) {
      const bytes = Buffer.from(sealed)
      if (bytes[0] !== FORMAT || bytes.length < 1 + IV_BYTES + TAG_BYTES)
        throw new Error('not sealed by this release')
      const iv = bytes.subarray(1, 1 + IV_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES })
      decipher.setAAD(Buffer.from(place)).setAuthTag(bytes.subarray(-TAG_BYTES))
      return Buffer.concat([
        decipher.update(bytes.subarray(1 + IV_BYTES, -TAG_BYTES)),
        decipher.final(),
      ])
    },
  }
}

/** Returns 32 bytes for one purpose: what is known of one key tells nothing of another. */
export type DeriveKey = (purpose: string) => Buffer

/** Derives keys from the root key (HKDF, RFC 5869). */
export function keysFrom(rootKey: Uint8Array): DeriveKey {
  return (purpose) => Buffer.from(hkdfSync('sha256', rootKey, '', `wardkeep ${purpose} v1`, 32))
}
