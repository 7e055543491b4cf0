/** Tests that normalization makes equivalent spellings equal, and keeps different texts different. */

import { describe, expect, test } from 'vitest'
import { fc } from '../../../../test/support/properties.ts'
import { normalIdentifier, normalMail, normalName, normalPhone } from './normalize.ts'

describe('a normalized name', () => {
  test.each([
    'MÜLLER-Lüdenscheidt, José',
    'jose muller ludenscheidt',
    'José Müller-Lüdenscheidt',
    'Ludenscheidt Jose   MULLER',
    'Mu\u0308ller Lu\u0308denscheidt Jose\u0301',
    'ＭÜＬＬＥＲ–Lüdenscheidt;\tJosé.',
    'Mül\u00adler-Lüdenscheidt \u202eJosé',
  ])('is "jose muller ludenscheidt" for %s, in any word order', (name) => {
    expect(normalName(name)).toBe(normalName('jose muller ludenscheidt'))
  })

  test.each([
    ['Weiß', 'WEISS'],
    ['WEIẞ', 'weiss'],
    ['ﬁnn Straße', 'STRASSE FINN'],
    ['Οδυσσεύς', 'ΟΔΥΣΣΕΥΣ'],
    ['İnci', 'inci'],
    ['Ⅳ. Heinrich', 'heinrich iv'],
    ["O'Neill", 'o’neill'],
    ['Нина Ёлкина', 'елкина НИНА'],
  ])('is the same for %s and %s', (one, other) => {
    expect(normalName(one)).toBe(normalName(other))
  })

  test.each([
    ['Jose Muller', 'Jose Mueller'],
    ['Ann Anna', 'Ann'],
    ['Anna Lena', 'Annalena'],
  ])('differs for %s and %s', (one, other) => {
    expect(normalName(one)).not.toBe(normalName(other))
  })

  test('is empty if the name has no letter, digit or symbol', () => {
    expect(normalName(' -.,\u200d ')).toBe('')
  })
})

describe('a normalized identifier', () => {
  test.each(['AB 12.34-56', 'ab123456', 'ＡＢ１２３４５６', 'a b–1 2−3456', 'ab\u00ad123456'])(
    'lacks the spaces, dots and dashes of %s',
    (text) => expect(normalIdentifier(text)).toBe('ab123456'),
  )

  test('keeps characters other than spaces, dots and dashes', () => {
    expect(normalIdentifier('12/3')).not.toBe(normalIdentifier('1/23'))
  })
})

test('the patient search keeps only the plus sign and the digits of a phone number', () => {
  for (const phone of ['+49 (30) 12-34', '+49.30.1234', '+49301234'])
    expect(normalPhone(phone)).toBe('+49301234')
})

test('the patient search lower-cases and trims an e-mail address, but keeps its dots', () => {
  expect(normalMail(' Jose.Muller@North.EXAMPLE')).toBe('jose.muller@north.example')
  expect(normalMail('josemuller@north.example')).not.toBe(normalMail('jose.muller@north.example'))
})

test('the patient search sorts combining marks after the whitespace between them is removed', () => {
  expect(normalIdentifier('\u0592\t\u08e6')).toBe(normalIdentifier('\u08e6\u0592'))
})

test.each([normalName, normalIdentifier, normalPhone, normalMail])(
  'the patient search does not change text that is already normalized: %o',
  (normal) => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const once = normal(text.toWellFormed())
        expect(normal(once)).toBe(once)
        expect(normal(text.toWellFormed().normalize('NFC'))).toBe(once)
      }),
      { numRuns: 2_000 },
    )
  },
)
