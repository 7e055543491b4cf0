/** Tests that an encrypted value can be decrypted with its key at its place, and in no other way. */
import { describe, expect, test } from 'vitest'
import { joined, keyNameOf, openSealer, openSealingKey, UnreadableError } from './seal.ts'

const KEY = Buffer.alloc(32, 1)
const sealer = openSealer(KEY)
const key = openSealingKey(KEY, keyNameOf(77))
const PLACE = { table: 'patients', column: 'sealed_notes', row: 12 }
const TENANT = 5
const SECRET = 'a private key'

const seal = (secret: Uint8Array | string = SECRET) => key.seal(secret, PLACE, TENANT)
const refused = (work: () => unknown, what?: string) => expect(work, what).toThrow(UnreadableError)

describe('an encrypted value', () => {
  test.each([0, 1, 13, 100_000])('decrypts to its original %i bytes', (length) => {
    const bytes = Buffer.alloc(length, 9)
    expect(key.open(seal(bytes), PLACE, TENANT)).toEqual(bytes)
  })

  test('decrypts with a second instance of the same key, and text as UTF-8', () => {
    const again = openSealingKey(KEY, keyNameOf(77))
    expect(again.open(seal('José ß 𝔸'), PLACE, TENANT).toString()).toBe('José ß 𝔸')
  })

  test('starts with its format and key name, and reveals nothing of the secret', () => {
    const sealed = seal()
    expect(sealed.subarray(0, 9).toString('hex')).toBe('02000000000000004d')
    expect(sealed).toHaveLength(9 + 24 + SECRET.length + 16)
    expect(sealed.includes(SECRET.slice(0, 4))).toBe(false)
  })

  test('has a random nonce of 24 bytes, and 64 values use one derived key', () => {
    const nonces = Array.from({ length: 64_000 }, () => seal('').subarray(9, 33))
    const halves = new Map<string, number>()
    for (const nonce of nonces) {
      const half = nonce.toString('hex', 0, 12)
      halves.set(half, (halves.get(half) ?? 0) + 1)
    }
    expect(Math.max(...halves.values())).toBe(64)
    expect(halves.size).toBeGreaterThanOrEqual(1_000)
    expect(new Set(nonces.map((nonce) => nonce.toString('hex', 12))).size).toBe(nonces.length)
    for (let at = 0; at < 24; at += 1)
      expect(new Set(nonces.map((nonce) => nonce[at])).size, `byte ${at}`).toBeGreaterThan(200)
    // Other instances, with the same key or another key, use other first halves.
    for (const other of [openSealingKey(KEY, keyNameOf(77)), openSealingKey(KEY, keyNameOf(78))])
      expect(halves.has(other.seal('', PLACE, TENANT).toString('hex', 9, 21))).toBe(false)
  })

  test.each([
    ['table', { ...PLACE, table: 'patient' }],
    ['column', { ...PLACE, column: 'sealed_phone' }],
    ['row', { ...PLACE, row: 13 }],
    ['border between column and row', { ...PLACE, column: 'sealed_notes1', row: 2 }],
    ['border between table and column', { ...PLACE, table: 'patientss', column: 'ealed_notes' }],
  ])('does not decrypt at another %s than it was encrypted for', (_what, place) => {
    const sealed = seal()
    refused(() => key.open(sealed, place, TENANT))
  })

  test('does not decrypt in another tenant, or without a tenant', () => {
    const sealed = seal()
    for (const tenant of [TENANT + 1, 0, undefined]) refused(() => key.open(sealed, PLACE, tenant))
  })

  test('decrypts whether its row is given as a number or as text with the same digits', () => {
    expect(key.open(seal(), { ...PLACE, row: '12' }, TENANT).toString()).toBe(SECRET)
  })

  test('does not decrypt with another key of the same name', () => {
    const sealed = seal()
    refused(() => openSealingKey(KEY, keyNameOf(78)).open(sealed, PLACE, TENANT))
    refused(() => openSealingKey(Buffer.alloc(32, 2), keyNameOf(77)).open(sealed, PLACE, TENANT))
  })

  test('does not decrypt with the same key under another name', () => {
    const sealed = seal()
    keyNameOf(78).copy(sealed, 1)
    refused(() => openSealingKey(KEY, keyNameOf(78)).open(sealed, PLACE, TENANT))
  })

  test('does not decrypt if any single bit is flipped', () => {
    const sealed = seal()
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const flipped = Buffer.from(sealed)
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7))
      refused(() => key.open(flipped, PLACE, TENANT), `bit ${bit}`)
    }
  })

  test('does not decrypt in an unknown format', () => {
    for (const format of [0, 1, 3]) {
      const sealed = seal()
      sealed[0] = format
      refused(() => key.open(sealed, PLACE, TENANT), `format ${format}`)
    }
  })

  test('does not decrypt if it is cut at either end or extended', () => {
    const sealed = seal()
    for (let at = 0; at < sealed.length; at += 1) {
      refused(() => key.open(sealed.subarray(0, at), PLACE, TENANT), `${at} bytes`)
      if (at > 0) refused(() => key.open(sealed.subarray(at), PLACE, TENANT), `without ${at} bytes`)
    }
    refused(() => key.open(Buffer.concat([sealed, Buffer.of(0)]), PLACE, TENANT))
  })

  test('is identified in errors only by its table, column and row', () => {
    expect(() => key.open(seal('hush'), { ...PLACE, row: 13 }, TENANT)).toThrow(
      /^patients\.sealed_notes of row 13 cannot be decrypted: [a-z, ]+$/,
    )
  })
})

describe('encryption with a root key', () => {
  test('decrypts its own values, and encryption with another root key does not', () => {
    const sealed = sealer.seal(SECRET, PLACE)
    expect(openSealer(KEY).open(sealed, PLACE).toString()).toBe(SECRET)
    refused(() => openSealer(Buffer.alloc(32, 2)).open(sealed, PLACE))
  })

  test('writes the fingerprint of the root key into every value', () => {
    expect(sealer.fingerprint).toMatch(/^[0-9a-f]{16}$/)
    expect(sealer.seal(SECRET, PLACE).subarray(1, 9).toString('hex')).toBe(sealer.fingerprint)
    expect(openSealer(Buffer.alloc(32, 2)).fingerprint).not.toBe(sealer.fingerprint)
  })

  test('decrypts values of known former root keys, but encrypts only with the current one', () => {
    const former = sealer.seal(SECRET, PLACE)
    const current = openSealer(Buffer.alloc(32, 2), [KEY])
    expect(current.open(former, PLACE).toString()).toBe(SECRET)
    const sealed = current.seal(SECRET, PLACE)
    expect(sealed.subarray(1, 9).toString('hex')).toBe(current.fingerprint)
    refused(() => sealer.open(sealed, PLACE))
    refused(() => current.open(former, { ...PLACE, row: 'another' }))
    refused(() => openSealer(Buffer.alloc(32, 2), [Buffer.alloc(32, 3)]).open(former, PLACE))
  })
})

test('the encryption context encodes different lists of parts differently', () => {
  const lists = [
    ['ab', 'c'],
    ['a', 'bc'],
    ['abc'],
    ['abc', ''],
    ['', 'abc'],
    ['1:a,', '1:b'],
    ['1:a'],
  ]
  const spelled = lists.map((parts) => joined(...parts).toString('hex'))
  expect(new Set(spelled).size).toBe(lists.length)
  expect(joined('ß', 1)).toEqual(Buffer.from('2:ß,1:1,'))
})
