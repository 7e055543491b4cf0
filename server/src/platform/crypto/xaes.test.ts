/** Tests XAES-256-GCM against the published test vectors (c2sp.org/XAES-256-GCM). */
import { createHash, createSecretKey } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { openXaes } from './xaes.ts'

const xaesOf = (key: Uint8Array) => openXaes(createSecretKey(key))

describe('XAES-256-GCM, compared with the published test vectors,', () => {
  test.each([
    ['first bit of L clear', 1, '', 'ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271'],
    [
      'first bit of L set',
      3,
      'c2sp.org/XAES-256-GCM',
      '986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d',
    ],
  ])('has the published result: %s', (_what, byte, data, ciphertext) => {
    const xaes = xaesOf(Buffer.alloc(32, byte))
    const nonce = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWX')
    const aad = Buffer.from(data)
    const sealed = xaes.seal(nonce, Buffer.from('XAES-256-GCM'), aad)
    expect(sealed.toString('hex')).toBe(ciphertext)
    expect(xaes.open(nonce, sealed, aad).toString()).toBe('XAES-256-GCM')
  })

  test('has the published hash over 10,000 random messages', () => {
    // The random bytes of 10,000 messages, at most 568 bytes each, from one stream.
    const stream = createHash('shake128', { outputLength: 5_680_000 }).digest()
    let at = 0
    const take = (length: number) => {
      at += length
      return stream.subarray(at - length, at)
    }
    const upTo255 = () => take(take(1)[0] as number)
    const all = createHash('shake128', { outputLength: 32 })
    for (let count = 0; count < 10_000; count += 1) {
      const [key, nonce, text, aad] = [take(32), take(24), upTo255(), upTo255()]
      const xaes = xaesOf(key)
      const sealed = xaes.seal(nonce, text, aad)
      if (!xaes.open(nonce, sealed, aad).equals(text)) throw new Error(`message ${count}`)
      all.update(sealed)
    }
    expect(all.digest('hex')).toBe(
      'e6b9edf2df6cec60c8cbd864e2211b597fb69a529160cd040d56c0c210081939',
    )
  })
})

test('XAES-256-GCM derives keys for any number of messages in any order with one cipher object', () => {
  const [kept, key] = [xaesOf(Buffer.alloc(32, 7)), Buffer.alloc(32, 7)]
  const nonces = Array.from({ length: 50 }, (_, index) => Buffer.alloc(24, index))
  const sealed = nonces.map((nonce) => kept.seal(nonce, Buffer.from('text'), Buffer.of(1)))
  for (const [index, nonce] of nonces.toReversed().entries()) {
    const bytes = sealed[nonces.length - 1 - index] as Buffer
    expect(xaesOf(key).seal(nonce, Buffer.from('text'), Buffer.of(1))).toEqual(bytes)
    expect(kept.open(nonce, bytes, Buffer.of(1)).toString()).toBe('text')
  }
})
