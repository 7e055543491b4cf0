/** Sealed secrets open with their key, in their place, unchanged; otherwise not at all. */
import { describe, expect, test } from 'vitest'
import { openSealer } from './seal.ts'

const sealer = openSealer(Buffer.alloc(32, 1))
const secret = Buffer.from('a private key')

describe('what is sealed', () => {
  test.each([0, 1, 13, 100_000])('opens to the %i bytes that it was', (length) => {
    const bytes = Buffer.alloc(length, 9)
    expect(sealer.open(sealer.seal(bytes, 'table.column:1'), 'table.column:1')).toEqual(bytes)
  })

  test('opens with another sealer of the same key', () => {
    const again = openSealer(Buffer.alloc(32, 1))
    expect(again.open(sealer.seal(secret, 'p'), 'p')).toEqual(secret)
  })

  test('shows nothing of the secret, and differs each time', () => {
    const [one, two] = [sealer.seal(secret, 'p'), sealer.seal(secret, 'p')]
    expect(one).not.toEqual(two)
    expect(one.includes(secret)).toBe(false)
  })

  test('does not open with another key', () => {
    const other = openSealer(Buffer.alloc(32, 2))
    expect(() => other.open(sealer.seal(secret, 'p'), 'p')).toThrow()
  })

  test.each(['', 'table.column:2', 'table.column:1 '])(
    'does not open in the place "%s"',
    (place) => {
      expect(() => sealer.open(sealer.seal(secret, 'table.column:1'), place)).toThrow()
    },
  )

  test('does not open with any byte flipped', () => {
    const sealed = sealer.seal(secret, 'p')
    for (let at = 0; at < sealed.length; at += 1) {
      const flipped = Buffer.from(sealed)
      flipped[at] = (flipped[at] ?? 0) ^ 0x40
      expect(() => sealer.open(flipped, 'p'), `byte ${at}`).toThrow()
    }
  })

  test('does not open when cut anywhere, nor with more behind it', () => {
    const sealed = sealer.seal(secret, 'p')
    for (let length = 0; length < sealed.length; length += 1)
      expect(() => sealer.open(sealed.subarray(0, length), 'p'), `${length} bytes`).toThrow()
    expect(() => sealer.open(Buffer.concat([sealed, Buffer.of(0)]), 'p')).toThrow()
  })
})
