/**
 * Seals values at rest: XAES-256-GCM by a key that the sealed bytes name, bound to where they are stored.
 *
 * Format 2: `02`, name of the key (8 bytes), nonce (24), ciphertext, tag (16).
 * Format 1, which is opened and no longer made: AES-256-GCM as `01`, IV (12), ciphertext, tag (16), behind
 * the id of its key (8) where that is a data key; the first byte of the id is 0.
 */
import { createDecipheriv, createSecretKey, hkdfSync, randomFillSync } from 'node:crypto'
import { HALF_BYTES, NONCE_BYTES, openXaes, TAG_BYTES } from './xaes.ts'

const FORMAT = 2
const NAME_BYTES = 8
const HEAD_BYTES = 1 + NAME_BYTES
const OLD_FORMAT = 1
const OLD_IV_BYTES = 12

/** Where a value is sealed to: it opens nowhere else. */
export interface Place {
  table: string
  column: string
  row: string | number
  /** Table and column as format 1 had bound them, where these were others: `second_factors.secret`. */
  formerly?: string
}

/** Something sealed that does not open: its key, its place or one of its bytes is another. */
export class UnreadableError extends Error {
  constructor({ table, column, row }: Place, why: string) {
    super(`${table}.${column} of row ${row} does not open: ${why}`)
    this.name = 'UnreadableError'
  }
}

/** A key that seals. */
export interface SealingKey {
  /** @param tenantId whose value it is; 0, which no tenant has, for values of none */
  seal(secret: Uint8Array | string, place: Place, tenantId?: number): Buffer
  /** @throws UnreadableError when the key, the tenant, the place or a byte differs */
  open(sealed: Uint8Array, place: Place, tenantId?: number): Buffer
}

/**
 * @param key 32 bytes; what it seals with is derived from it
 * @param name 8 bytes that no other key has
 */
export function openSealingKey(key: Uint8Array, name: Buffer): SealingKey {
  const derive = keysFrom(key)
  const xaes = openXaes(createSecretKey(derive('xaes')))
  const old = createSecretKey(derive('seal'))
  const head = Buffer.concat([Buffer.of(FORMAT), name])
  const id = name.toString('hex')
  const nonces = openNonces()

  function openOld(bytes: Buffer, { table, column, row, formerly }: Place): Buffer {
    const iv = bytes.subarray(1, 1 + OLD_IV_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', old, iv, { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(`${formerly ?? `${table}.${column}`}:${row}`))
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    const text = decipher.update(bytes.subarray(1 + OLD_IV_BYTES, -TAG_BYTES))
    decipher.final()
    return text
  }

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
      const named = keyOf(bytes)
      if (named && !named.equals(name)) throw new UnreadableError(place, 'another key sealed it')
      const body = bytes[0] === 0 ? bytes.subarray(NAME_BYTES) : bytes
      try {
        if (body[0] === OLD_FORMAT) return openOld(body, place)
        const nonce = body.subarray(HEAD_BYTES, HEAD_BYTES + NONCE_BYTES)
        const text = body.subarray(HEAD_BYTES + NONCE_BYTES)
        if (body[0] !== FORMAT || text.length < TAG_BYTES) throw new Error('not a sealed value')
        return xaes.open(nonce, text, dataOf(id, tenantId, place))
      } catch {
        throw new UnreadableError(place, 'its key, its place or a byte is another')
      }
    },
  }
}

/**
 * Values whose nonces share their random first half, and so one derived key: by 96 random bits each, as few
 * never meet the same nonce (ADR 0020).
 */
const TOGETHER = 64

/** The nonces of one key. */
function openNonces() {
  const half = Buffer.alloc(HALF_BYTES)
  let left = 0
  return {
    /** Writes 24 bytes that nobody was given before. */
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

/** Many at once, as each question for random bytes takes longer than to make them. Nonces are no secret. */
const halves = Buffer.alloc(512 * HALF_BYTES)
let nextAt = halves.length

/** Random bytes that nobody was given before. Good until the next are asked for. */
function nextHalf(): Buffer {
  if (nextAt === halves.length) {
    randomFillSync(halves)
    nextAt = 0
  }
  nextAt += HALF_BYTES
  return halves.subarray(nextAt - HALF_BYTES, nextAt)
}

/** The name of the key that has sealed it; undefined where it has none. */
export function keyOf(sealed: Uint8Array): Buffer | undefined {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length)
  const start = { 0: 0, [FORMAT]: 1 }[bytes[0] ?? OLD_FORMAT]
  return start === undefined ? undefined : bytes.subarray(start, start + NAME_BYTES)
}

/** The name of a key that is known by its number. */
export function nameOf(id: number): Buffer {
  const name = Buffer.alloc(NAME_BYTES)
  name.writeBigUInt64BE(BigInt(id))
  return name
}

/** One spelling for each list of parts, and no two lists with the same: each has its length in front. */
export function joined(...parts: readonly (string | number)[]): Buffer {
  let text = ''
  for (const part of parts) text += `${Buffer.byteLength(String(part))}:${part},`
  return Buffer.from(text)
}

/** What is authenticated along with a value. */
const dataOf = (keyName: string, tenantId: number, { table, column, row }: Place) =>
  joined(FORMAT, tenantId, table, column, row, keyName)

/** Seals by the root key. */
export interface Sealer {
  /** Names the root key, and tells nothing of it: 16 hexadecimal digits. */
  readonly fingerprint: string
  seal(secret: Uint8Array | string, place: Place): Buffer
  /** @throws UnreadableError when the key, the place or a byte differs */
  open(sealed: Uint8Array, place: Place): Buffer
}

/** Names a root key, and tells nothing of it: 16 hexadecimal digits. */
export const fingerprintOf = (rootKey: Uint8Array): string => fingerprintBy(keysFrom(rootKey))

/** As `fingerprintOf`, by what is derived from the root key. */
export const fingerprintBy = (deriveKey: DeriveKey): string =>
  deriveKey('fingerprint').subarray(0, NAME_BYTES).toString('hex')

const openRoot = (rootKey: Uint8Array): SealingKey =>
  openSealingKey(rootKey, Buffer.from(fingerprintOf(rootKey), 'hex'))

/**
 * @param rootKey 32 bytes
 * @param former root keys before it, which open what names them and seal nothing
 */
export function openSealer(rootKey: Uint8Array, former: readonly Uint8Array[] = []): Sealer {
  const current = openRoot(rootKey)
  const others = new Map(former.map((key) => [fingerprintOf(key), openRoot(key)]))
  return {
    fingerprint: fingerprintOf(rootKey),
    seal: (secret, place) => current.seal(secret, place),
    open(sealed, place) {
      const key = others.get(keyOf(sealed)?.toString('hex') ?? '') ?? current
      return key.open(sealed, place)
    },
  }
}

/** Returns 32 bytes for one purpose: what is known of one key tells nothing of another. */
export type DeriveKey = (purpose: string) => Buffer

/** Derives keys from a key (HKDF, RFC 5869). */
export function keysFrom(key: Uint8Array): DeriveKey {
  return (purpose) => Buffer.from(hkdfSync('sha256', key, '', `wardkeep ${purpose} v1`, 32))
}
