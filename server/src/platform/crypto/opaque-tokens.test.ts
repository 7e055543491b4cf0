/** Tests the format of opaque tokens, and that malformed tokens are rejected. */
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { newToken, parseToken } from './opaque-tokens.ts'

const SECRET = 'A'.repeat(43)

describe('a new token', () => {
  test('contains the id of its tenant and 256 random bits', () => {
    const { text, tenantId } = newToken(42)
    expect(tenantId).toBe(42)
    const [tenant, secret = ''] = text.split('.')
    expect(tenant).toBe('42')
    expect(Buffer.from(secret, 'base64url')).toHaveLength(32)
    const texts = new Set(Array.from({ length: 100 }, () => newToken(42).text))
    expect(texts.size).toBe(100)
  })

  test('can be parsed back to the same token', () => {
    const token = newToken(Number.MAX_SAFE_INTEGER)
    expect(parseToken(token.text)).toEqual(token)
  })

  test('is stored as a hash that includes the tenant', () => {
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
])('the parser rejects %j as a token', (text) => {
  expect(parseToken(text)).toBeUndefined()
})
