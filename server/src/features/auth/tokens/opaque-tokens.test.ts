/** Tokens that mean nothing: how they look, and what cannot be one. */
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { newToken, parseToken } from './opaque-tokens.ts'

const SECRET = 'A'.repeat(43)

describe('a new token', () => {
  test('names its tenant and has 256 random bits', () => {
    const { text, tenantId } = newToken(42)
    expect(tenantId).toBe(42)
    const [tenant, secret = ''] = text.split('.')
    expect(tenant).toBe('42')
    expect(Buffer.from(secret, 'base64url')).toHaveLength(32)
    const texts = new Set(Array.from({ length: 100 }, () => newToken(42).text))
    expect(texts.size).toBe(100)
  })

  test('is read back as it is', () => {
    const token = newToken(Number.MAX_SAFE_INTEGER)
    expect(parseToken(token.text)).toEqual(token)
  })

  test('is kept as a hash of all of it, the tenant too', () => {
    const { text, hash } = newToken(42)
    expect(hash).toEqual(createHash('sha256').update(text).digest())
    expect(parseToken(`43${text.slice(2)}`)?.hash).not.toEqual(hash)
  })

  test('needs no escaping in a link', () => {
    for (let times = 0; times < 50; times += 1) {
      const { text } = newToken(7)
      expect(encodeURIComponent(text)).toBe(text)
    }
  })
})

test.each([
  '',
  '.',
  SECRET,
  `.${SECRET}`,
  `0.${SECRET}`,
  `01.${SECRET}`,
  `-1.${SECRET}`,
  `1e3.${SECRET}`,
  `9007199254740992.${SECRET}`,
  `99999999999999999999.${SECRET}`,
  `1.${SECRET.slice(1)}`,
  `1.${SECRET}A`,
  `1.${SECRET.slice(1)}=`,
  `1.${SECRET.slice(1)}+`,
  `1.${SECRET}\n`,
  ` 1.${SECRET}`,
  `1.${SECRET}.1`,
  `１.${SECRET}`,
])('%j is none', (text) => {
  expect(parseToken(text)).toBeUndefined()
})
