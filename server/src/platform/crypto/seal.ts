/**
 * Encrypts stored values with XAES-256-GCM, and binds each value to the place where it is stored. The encrypted bytes
 * contain the name of their key.
 *
 * Format 2: `02`, name of the key (8 bytes), nonce (24), ciphertext, tag (16). Other formats are rejected.
 */
import { createSecretKey, hkdfSync, randomFillSync } from 'node:crypto'
import { HALF_BYTES, NONCE_BYTES, openXaes, TAG_BYTES } from './xaes.ts'

const FORMAT = 2
const NAME_BYTES = 8
const HEAD_BYTES = 1 + NAME_BYTES

/** The place to which an encrypted value is bound. The value cannot be decrypted at any other place. */
export interface SealedPlace {
  table: string
  column: string
  row: string | number
}

/** Thrown when a value cannot be decrypted because its key, its place or one of its bytes differs. */
export class UnreadableError extends Error {
  constructor({ table, column, row }: SealedPlace, why: string) {
    super(`${table}.${column} of row ${row} cannot be decrypted: ${why}`)
    this.name = 'UnreadableError'
  }
}

/** Returns the result of `open`, or its UnreadableError if the value cannot be decrypted. Rethrows other errors. */
export function orUnreadable<T>(open: () => T): T | UnreadableError {
  try {
    return open()
  } catch (error) {
    if (error instanceof UnreadableError) return error
    throw error
  }
}

export interface SealingKey {
  /** Encrypts a value. @param tenantId 0 (not a valid tenant) for values without a tenant */
  seal(secret: Uint8Array | string, place: SealedPlace, tenantId?: number): Buffer
  /** Decrypts a value. @throws UnreadableError if the key, the tenant, the place or a byte differs */
  open(sealed: Uint8Array, place: SealedPlace, tenantId?: number): Buffer
}

/** @param key 32 bytes, from which the encryption key is derived @param name 8 bytes that identify this key only */
export function openSealingKey(key: Uint8Array, name: Buffer): SealingKey {
  const xaes = openXaes(createSecretKey(keysFrom(key)('xaes')))
  const head = Buffer.concat([Buffer.of(FORMAT), name])
  const id = name.toString('hex')
  const nonces = openNonces()

  return {
    seal(secret, place, tenantId = 0) {
      const text = typeof secret === 'string' ? Buffer.from(secret) : secret
      const front = Buffer.allocUnsafe(HEAD_BYTES + NONCE_BYTES)
      front.set(head)
      nonces.next(front.subarray(HEAD_BYTES))
      return xaes.seal(front.subarray(HEAD_BYTES), text, dataOf(id, tenantId, place), front)
    },
    open(sealed, place, tenantId = 0) {
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length)
      const named = sealingKeyOf(bytes)
      if (named && !named.equals(name))
        throw new UnreadableError(place, 'it was encrypted with another key')
      try {
        const nonce = bytes.subarray(HEAD_BYTES, HEAD_BYTES + NONCE_BYTES)
        const text = bytes.subarray(HEAD_BYTES + NONCE_BYTES)
        if (!named || text.length < TAG_BYTES) throw new Error('it is not an encrypted value')
        return xaes.open(nonce, text, dataOf(id, tenantId, place))
      } catch {
        throw new UnreadableError(place, 'wrong key, wrong row, or altered data')
      }
    },
  }
}

/**
 * The number of values whose nonces share a random first half, and so a derived key. The 96 random bits of the second
 * half make a collision practically impossible (ADR 0020).
 */
const TOGETHER = 64

function openNonces() {
  const half = Buffer.alloc(HALF_BYTES)
  let left = 0
  return {
    /** Writes a new random nonce of 24 bytes into `to`. */
    next(to: Buffer): void {
      if (left === 0) {
        half.set(nextHalf())
        left = TOGETHER
      }
      left -= 1
      to.set(half)
      to.set(nextHalf(), HALF_BYTES)
    },
  }
}

/** Random bytes for nonces, generated in batches, because each call costs more than the bytes. Not secret. */
const halves = Buffer.alloc(512 * HALF_BYTES)
let nextAt = halves.length

/** Returns unused random bytes. The returned view is valid until the next call. */
function nextHalf(): Buffer {
  if (nextAt === halves.length) {
    randomFillSync(halves)
    nextAt = 0
  }
  nextAt += HALF_BYTES
  return halves.subarray(nextAt - HALF_BYTES, nextAt)
}

/** Returns the name of the key that encrypted the value, or undefined for an unknown format. */
export function sealingKeyOf(sealed: Uint8Array): Buffer | undefined {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length)
  return bytes[0] === FORMAT ? bytes.subarray(1, HEAD_BYTES) : undefined
}

/** Returns the 8-byte name of a key with a numeric id. */
export function keyNameOf(id: number): Buffer {
  const name = Buffer.alloc(NAME_BYTES)
  name.writeBigUInt64BE(BigInt(id))
  return name
}

/** Encodes a list of parts unambiguously, because each part is prefixed with its length. */
export function joined(...parts: readonly (string | number)[]): Buffer {
  let text = ''
  for (const part of parts) text += `${Buffer.byteLength(String(part))}:${part},`
  return Buffer.from(text)
}

/** Returns the associated data that binds a value to its format, tenant, place and key. */
const dataOf = (keyName: string, tenantId: number, { table, column, row }: SealedPlace) =>
  joined(FORMAT, tenantId, table, column, row, keyName)

export interface Sealer {
  /** Identifies the root key without revealing it: 16 hexadecimal digits. */
  readonly fingerprint: string
  seal(secret: Uint8Array | string, place: SealedPlace): Buffer
  /** Decrypts a value. @throws UnreadableError if the key, the place or a byte differs */
  open(sealed: Uint8Array, place: SealedPlace): Buffer
}

/** Returns the fingerprint of a root key, which identifies the key without revealing it: 16 hexadecimal digits. */
export const fingerprintOf = (rootKey: Uint8Array): string => fingerprintBy(keysFrom(rootKey))

/** Returns the fingerprint of a root key from its derivation function (see `fingerprintOf`). */
export const fingerprintBy = (deriveKey: DeriveKey): string =>
  deriveKey('fingerprint').subarray(0, NAME_BYTES).toString('hex')

const openRoot = (rootKey: Uint8Array): SealingKey =>
  openSealingKey(rootKey, Buffer.from(fingerprintOf(rootKey), 'hex'))

/** @param rootKey 32 bytes @param former former root keys, which only decrypt values that name them */
export function openSealer(rootKey: Uint8Array, former: readonly Uint8Array[] = []): Sealer {
  const current = openRoot(rootKey)
  const others = new Map(former.map((key) => [fingerprintOf(key), openRoot(key)]))
  return {
    fingerprint: fingerprintOf(rootKey),
    seal: (secret, place) => current.seal(secret, place),
    open(sealed, place) {
      const key = others.get(sealingKeyOf(sealed)?.toString('hex') ?? '') ?? current
      return key.open(sealed, place)
    },
  }
}

/** Returns a key of 32 bytes for one purpose. A key reveals nothing about the keys for other purposes. */
export type DeriveKey = (purpose: string) => Buffer

/** Returns a function that derives keys from `key` (HKDF, RFC 5869). */
export function keysFrom(key: Uint8Array): DeriveKey {
  return (purpose) => Buffer.from(hkdfSync('sha256', key, '', `wardkeep ${purpose} v1`, 32))
}
