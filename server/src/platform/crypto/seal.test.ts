/** Sealed values open with their key, in their place, unchanged; otherwise not at all. */
import { createCipheriv } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { joined, keysFrom, nameOf, openSealer, openSealingKey, UnreadableError } from './seal.ts'

const KEY = Buffer.alloc(32, 1)
const sealer = openSealer(KEY)
const key = openSealingKey(KEY, nameOf(77))
const PLACE = { table: 'patients', column: 'sealed_notes', row: 12 }
const TENANT = 5
const SECRET = 'a private key'

const seal = (secret: Uint8Array | string = SECRET) => key.seal(secret, PLACE, TENANT)
const refused = (work: () => unknown, what?: string) => expect(work, what).toThrow(UnreadableError)

/** As the releases before format 2 have sealed: by the root key, or by a data key behind its id. */
function old(text: string, place: string, id?: number): Buffer {
  const iv = Buffer.alloc(12, 4)
  const cipher = createCipheriv('aes-256-gcm', keysFrom(KEY)('seal'), iv)
  cipher.setAAD(Buffer.from(place))
  const sealed = Buffer.concat([cipher.update(text), cipher.final(), cipher.getAuthTag()])
  return Buffer.concat([id === undefined ? Buffer.of() : nameOf(id), Buffer.of(1), iv, sealed])
}

describe('what is sealed', () => {
  test.each([0, 1, 13, 100_000])('opens to the %i bytes that it was', (length) => {
    const bytes = Buffer.alloc(length, 9)
    expect(key.open(seal(bytes), PLACE, TENANT)).toEqual(bytes)
  })

  test('opens with the same key again, text as UTF-8', () => {
    const again = openSealingKey(KEY, nameOf(77))
    expect(again.open(seal('José ß 𝔸'), PLACE, TENANT).toString()).toBe('José ß 𝔸')
  })

  test('names format and key in front, and holds nothing of the secret', () => {
    const sealed = seal()
    expect(sealed.subarray(0, 9).toString('hex')).toBe('02000000000000004d')
    expect(sealed).toHaveLength(9 + 24 + SECRET.length + 16)
    expect(sealed.includes(SECRET.slice(0, 4))).toBe(false)
  })

  test('has another nonce each time, of 24 random bytes; 64 share the first 12, and one key', () => {
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
    // Another process, and another key, begin elsewhere.
    for (const other of [openSealingKey(KEY, nameOf(77)), openSealingKey(KEY, nameOf(78))])
      expect(halves.has(other.seal('', PLACE, TENANT).toString('hex', 9, 21))).toBe(false)
  })

  test.each([
    ['table', { ...PLACE, table: 'patient' }],
    ['column', { ...PLACE, column: 'sealed_phone' }],
    ['row', { ...PLACE, row: 13 }],
    ['border between column and row', { ...PLACE, column: 'sealed_notes1', row: 2 }],
    ['border between table and column', { ...PLACE, table: 'patientss', column: 'ealed_notes' }],
  ])('does not open at another %s', (_what, place) => {
    const sealed = seal()
    refused(() => key.open(sealed, place, TENANT))
  })

  test('does not open in another tenant, nor as a value of none', () => {
    const sealed = seal()
    for (const tenant of [TENANT + 1, 0, undefined]) refused(() => key.open(sealed, PLACE, tenant))
  })

  test('opens where its row is named by a number or by the same digits', () => {
    expect(key.open(seal(), { ...PLACE, row: '12' }, TENANT).toString()).toBe(SECRET)
  })

  test('does not open with another key, not even one of the same name', () => {
    const sealed = seal()
    refused(() => openSealingKey(KEY, nameOf(78)).open(sealed, PLACE, TENANT))
    refused(() => openSealingKey(Buffer.alloc(32, 2), nameOf(77)).open(sealed, PLACE, TENANT))
  })

  test('does not open under the name of another key of the same bytes', () => {
    const sealed = seal()
    nameOf(78).copy(sealed, 1)
    refused(() => openSealingKey(KEY, nameOf(78)).open(sealed, PLACE, TENANT))
  })

  test('does not open with any one bit flipped', () => {
    const sealed = seal()
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const flipped = Buffer.from(sealed)
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7))
      refused(() => key.open(flipped, PLACE, TENANT), `bit ${bit}`)
    }
  })

  test('does not open when cut anywhere at either end, nor with more behind it', () => {
    const sealed = seal()
    for (let at = 0; at < sealed.length; at += 1) {
      refused(() => key.open(sealed.subarray(0, at), PLACE, TENANT), `${at} bytes`)
      if (at > 0) refused(() => key.open(sealed.subarray(at), PLACE, TENANT), `without ${at} bytes`)
    }
    refused(() => key.open(Buffer.concat([sealed, Buffer.of(0)]), PLACE, TENANT))
  })

  test('is told of by its place alone when it does not open', () => {
    expect(() => key.open(seal('hush'), { ...PLACE, row: 13 }, TENANT)).toThrow(
      /^patients\.sealed_notes of row 13 does not open: [a-z, ]+$/,
    )
  })
})

describe('format 1', () => {
  const text = 'patients.sealed_notes:12'

  test('of a data key still opens, in its place', () => {
    expect(key.open(old(SECRET, text, 77), PLACE, TENANT).toString()).toBe(SECRET)
    refused(() => key.open(old(SECRET, text, 77), { ...PLACE, row: 13 }, TENANT))
    refused(() => key.open(old(SECRET, text, 78), PLACE, TENANT))
  })

  test('of the root key still opens', () => {
    expect(sealer.open(old(SECRET, text), PLACE).toString()).toBe(SECRET)
    refused(() => openSealer(Buffer.alloc(32, 2)).open(old(SECRET, text), PLACE))
  })

  test('opens under the name that it had given to the column', () => {
    const place = { ...PLACE, formerly: 'patients.notes' }
    expect(key.open(old(SECRET, 'patients.notes:12', 77), place, TENANT).toString()).toBe(SECRET)
    refused(() => key.open(old(SECRET, text, 77), place, TENANT))
    // Format 2 never had it.
    expect(key.open(seal(), place, TENANT).toString()).toBe(SECRET)
  })

  test('does not open with any one bit flipped, or cut', () => {
    const sealed = old(SECRET, text, 77)
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const flipped = Buffer.from(sealed)
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7))
      refused(() => key.open(flipped, PLACE, TENANT), `bit ${bit}`)
    }
    for (let length = 0; length < sealed.length; length += 1)
      refused(() => key.open(sealed.subarray(0, length), PLACE, TENANT), `${length} bytes`)
  })
})

describe('the root key', () => {
  test('opens what it has sealed, again too, and another does not', () => {
    const sealed = sealer.seal(SECRET, PLACE)
    expect(openSealer(KEY).open(sealed, PLACE).toString()).toBe(SECRET)
    refused(() => openSealer(Buffer.alloc(32, 2)).open(sealed, PLACE))
  })

  test('is named by its fingerprint in all that it seals, which tells keys apart', () => {
    expect(sealer.fingerprint).toMatch(/^[0-9a-f]{16}$/)
    expect(sealer.seal(SECRET, PLACE).subarray(1, 9).toString('hex')).toBe(sealer.fingerprint)
    expect(openSealer(Buffer.alloc(32, 2)).fingerprint).not.toBe(sealer.fingerprint)
  })

  test('opens what names a former one, for as long as that is known, and seals by itself', () => {
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

test('lists of other parts never have one spelling', () => {
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
