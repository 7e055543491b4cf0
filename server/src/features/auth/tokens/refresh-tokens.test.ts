/** Tests the format of refresh tokens, and that each token has exactly one successor. */
import { describe, expect, test } from 'vitest'
import { newToken, parseToken } from '../../../platform/crypto/index.ts'
import { newSalt, successorOf } from './refresh-tokens.ts'

describe('a refresh token', () => {
  test('can be parsed back to the same token', () => {
    const token = newToken(42)
    expect(token.text).toMatch(/^42\.[\w-]{43}$/)
    expect(parseToken(token.text)).toEqual(token)
  })

  test('is never generated twice', () => {
    const texts = Array.from({ length: 1000 }, () => newToken(1).text)
    expect(new Set(texts).size).toBe(1000)
  })

  test('has a hash that includes the tenant id', () => {
    const token = newToken(1)
    const moved = parseToken(token.text.replace(/^1/, '2'))
    expect(moved?.tenantId).toBe(2)
    expect(moved?.hash).not.toEqual(token.hash)
  })

  const secret = 'A'.repeat(43)
  test.each([
    '',
    '.',
    secret,
    `.${secret}`,
    `0.${secret}`,
    `01.${secret}`,
    `-1.${secret}`,
    `1e3.${secret}`,
    `1.5.${secret}`,
    ` 1.${secret}`,
    `1.${secret} `,
    `1.${secret}\n`,
    `1.${secret.slice(1)}`,
    `1.${secret}A`,
    `1.${'ä'.repeat(43)}`,
    `٣.${secret}`,
    `9007199254740992.${secret}`,
    `9999999999999999.${secret}`,
    `99999999999999999999.${secret}`,
  ])('is not "%s"', (text) => {
    expect(parseToken(text)).toBeUndefined()
  })

  test('can contain the largest possible tenant id', () => {
    expect(parseToken(`9007199254740991.${secret}`)?.tenantId).toBe(Number.MAX_SAFE_INTEGER)
  })
})

describe('the successor of a refresh token', () => {
  const spent = newToken(7)
  const salt = newSalt()

  test('is always the same for one token, and belongs to the same tenant', () => {
    const successor = successorOf(spent, salt)
    expect(successorOf(spent, salt)).toEqual(successor)
    expect(parseToken(successor.text)).toEqual(successor)
    expect(successor.tenantId).toBe(7)
  })

  test('differs if the salt or the previous token differs', () => {
    const texts = [
      successorOf(spent, salt),
      successorOf(spent, newSalt()),
      successorOf(newToken(7), salt),
      spent,
    ].map(({ text }) => text)
    expect(new Set(texts).size).toBe(4)
  })
})
