/** Tests the format of link codes, and the ways of typing a code that are accepted. */

import { describe, expect, test } from 'vitest'
import { fc } from '../../../../test/support/properties.ts'
import { ALPHABET, CODE_LENGTH, digestWith, newCode, readCode, showCode } from './codes.ts'

const aCode = fc
  .array(fc.constantFrom(...ALPHABET), { minLength: CODE_LENGTH, maxLength: CODE_LENGTH })
  .map((characters) => characters.join(''))

describe('a linking code', () => {
  test('has eight characters from an alphabet without look-alikes', () => {
    expect(new Set(ALPHABET).size).toBe(31)
    expect(ALPHABET).not.toMatch(/[01OIL]/)
    for (let made = 0; made < 200; made += 1) expect(newCode()).toMatch(/^[2-9A-HJKMNP-Z]{8}$/)
  })

  test('picks each character with one random number from 0 to 30', () => {
    const drawn: number[] = []
    const code = newCode((below) => drawn.push(below) - 1)
    expect(drawn).toEqual(Array.from({ length: 8 }, () => 31))
    expect(code).toBe('23456789')
    expect(newCode(() => 30)).toBe('ZZZZZZZZ')
  })

  test('is recognized with any separators and in any case', () => {
    const between = fc.constantFrom(
      '',
      ' ',
      '-',
      ' - ',
      '\u2011',
      '\u2013',
      '\u00a0',
      '\u200b',
      '\t',
    )
    fc.assert(
      fc.property(aCode, fc.array(between, { minLength: 9, maxLength: 9 }), (code, gaps) => {
        const spread = [...code].map((one, index) => gaps[index] + one).join('') + gaps[8]
        for (const typed of [code, showCode(code), spread, spread.toLowerCase()])
          expect(readCode(typed)).toBe(code)
      }),
    )
  })

  test('may be typed in full-width characters, which some keyboards produce', () => {
    expect(readCode('ＡＢＣＤ－２３４５')).toBe('ABCD2345')
  })

  test.each(['', 'ABCD234', 'ABCD23456', 'ABCD-234O', 'ABCD-2341', 'ABCD_2345', 'АBCD2345', '\0'])(
    'is not recognized in %j',
    (typed) => {
      expect(readCode(typed)).toBeUndefined()
    },
  )
})

describe('the digest of a linking code', () => {
  test('depends only on the code and the key', () => {
    const [one, other] = [digestWith(Buffer.alloc(32, 1)), digestWith(Buffer.alloc(32, 2))]
    expect(one('ABCD2345')).toEqual(one('ABCD2345'))
    expect(one('ABCD2345')).not.toEqual(one('ABCD2346'))
    expect(one('ABCD2345')).not.toEqual(other('ABCD2345'))
  })
})
