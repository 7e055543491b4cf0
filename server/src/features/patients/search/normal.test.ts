/** Spellings that mean the same are the same, and others are not. */

import { describe, expect, test } from 'vitest'
import { fc } from '../../../../test/support/properties.ts'
import { normalIdentifier, normalMail, normalName, normalPhone } from './normal.ts'

describe('a name', () => {
  test.each([
    'MÜLLER-Lüdenscheidt, José',
    'jose muller ludenscheidt',
    'José Müller-Lüdenscheidt',
    'Ludenscheidt Jose   MULLER',
    'Mu\u0308ller Lu\u0308denscheidt Jose\u0301',
    'ＭÜＬＬＥＲ–Lüdenscheidt;\tJosé.',
    'Mül\u00adler-Lüdenscheidt \u202eJosé',
  ])('%s is "jose muller ludenscheidt", its words in any order', (name) => {
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
  ])('%s is %s', (one, other) => {
    expect(normalName(one)).toBe(normalName(other))
  })

  test.each([
    ['Jose Muller', 'Jose Mueller'],
    ['Ann Anna', 'Ann'],
    ['Anna Lena', 'Annalena'],
  ])('%s is not %s', (one, other) => {
    expect(normalName(one)).not.toBe(normalName(other))
  })

  test('of nothing that is read is nothing', () => {
    expect(normalName(' -.,\u200d ')).toBe('')
  })
})

describe('an identifier', () => {
  test.each(['AB 12.34-56', 'ab123456', 'ＡＢ１２３４５６', 'a b–1 2−3456', 'ab\u00ad123456'])(
    '%s is without spaces, dots and dashes',
    (text) => expect(normalIdentifier(text)).toBe('ab123456'),
  )

  test('keeps every other sign', () => {
    expect(normalIdentifier('12/3')).not.toBe(normalIdentifier('1/23'))
  })
})

test('a phone number is its plus and its digits', () => {
  for (const phone of ['+49 (30) 12-34', '+49.30.1234', '+49301234'])
    expect(normalPhone(phone)).toBe('+49301234')
})

test('of an address every sign counts, but not its case', () => {
  expect(normalMail(' Jose.Muller@North.EXAMPLE')).toBe('jose.muller@north.example')
  expect(normalMail('josemuller@north.example')).not.toBe(normalMail('jose.muller@north.example'))
})

test('marks that stood apart are in one order', () => {
  expect(normalIdentifier('\u0592\t\u08e6')).toBe(normalIdentifier('\u08e6\u0592'))
})

test.each([normalName, normalIdentifier, normalPhone, normalMail])(
  'what is normal stays as it is: %o',
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
