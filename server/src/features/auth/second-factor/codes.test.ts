/** Tests time-based codes against the vectors of RFC 6238, and which spellings of codes are accepted. */
import { describe, expect, test } from 'vitest'
import {
  describeSecret,
  hashRecoveryCode,
  newRecoveryCode,
  newTotpSecret,
  stepOf,
} from './codes.ts'

/**
 * The SHA-1 secret of RFC 6238, appendix B. The RFC's codes have eight digits. Ours are the last six of these digits.
 */
const SECRET = Buffer.from('12345678901234567890')
const VECTORS: [seconds: number, code: string][] = [
  [59, '94287082'],
  [1111111109, '07081804'],
  [1111111111, '14050471'],
  [1234567890, '89005924'],
  [2000000000, '69279037'],
  [20000000000, '65353130'],
]

describe('a time-based code', () => {
  test.each(VECTORS)('matches RFC 6238: at %i s the code is %s', (seconds, code) => {
    expect(stepOf(SECRET, code.slice(2), seconds * 1000)).toBe(Math.floor(seconds / 30))
  })

  test.each([
    [-60, null],
    [-31, null],
    [-30, 37037036],
    [0, 37037036],
    [29, 37037036],
    [59, 37037036],
    [60, null],
    [90, null],
  ])(
    'is valid one step early or late: %i s after the start of its step it matches step %s',
    (later, step) => {
      expect(stepOf(SECRET, '081804', (37037036 * 30 + later) * 1000)).toBe(step)
    },
  )

  test.each([
    '081 804',
    ' 081804',
    '081804 ',
    '0 8 1 8 0 4',
    '081-804',
    '081–804',
    '081−804',
    '０８１８０４',
    '0818\u200b04',
  ])('may be typed as "%s"', (typed) => {
    expect(stepOf(SECRET, typed, 1111111109_000)).toBe(37037036)
  })

  test.each(['', '81804', '0081804', '081805', '٠٨١٨٠٤', '+81804', '8.1804', 'abcdef'])(
    'is not accepted as "%s"',
    (typed) => {
      expect(stepOf(SECRET, typed, 1111111109_000)).toBeNull()
    },
  )

  test('is rejected if it belongs to another secret', () => {
    expect(stepOf(Buffer.from('12345678901234567891'), '081804', 1111111109_000)).toBeNull()
  })
})

describe('a secret', () => {
  test('has 160 random bits, as RFC 4226 recommends', () => {
    const secrets = Array.from({ length: 50 }, newTotpSecret)
    expect(secrets.every(({ length }) => length === 20)).toBe(true)
    expect(new Set(secrets.map((secret) => secret.toString('hex'))).size).toBe(50)
  })

  test('is base32 text without padding, and is escaped in the URL', () => {
    const { secret, url } = describeSecret(SECRET, {
      issuer: 'North: clinic',
      email: 'anna&issuer=Evil/?#@north.test',
      subdomain: 'north',
    })
    expect(secret).toBe('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ')
    const parsed = new URL(url)
    expect(parsed.protocol).toBe('otpauth:')
    expect(parsed.searchParams.getAll('issuer')).toEqual(['North  clinic'])
    expect(parsed.searchParams.get('secret')).toBe(secret)
    expect(parsed.hash).toBe('')
  })
})

describe('a recovery code', () => {
  test('has 24 unambiguous characters in six groups, and is unique', () => {
    const codes = Array.from({ length: 200 }, newRecoveryCode)
    for (const code of codes)
      expect(code).toMatch(/^([a-hj-km-np-z2-9]{4}-){5}[a-hj-km-np-z2-9]{4}$/)
    expect(new Set(codes).size).toBe(200)
  })

  test.each(['abcdefghjkmn', 'ABCD-EFGH-JKMN', ' abcd efgh jkmn ', 'abc-defg-hjkm-n'])(
    'may be typed as "%s"',
    (typed) => {
      expect(hashRecoveryCode(7, typed)).toEqual(hashRecoveryCode(7, 'abcd-efgh-jkmn'))
    },
  )

  test('has a different hash for each user', () => {
    expect(hashRecoveryCode(1, '2abc')).not.toEqual(hashRecoveryCode(2, '2abc'))
    expect(hashRecoveryCode(1, '2abc')).not.toEqual(hashRecoveryCode(12, 'abc'))
  })
})
