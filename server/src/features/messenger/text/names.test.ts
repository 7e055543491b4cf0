/** Tests which names of people are shown in a chat, and how. */

import { describe, expect, test } from 'vitest'
import { fc } from '../../../../test/support/properties.ts'
import { plain, shownName } from './names.ts'

describe("a person's name in a chat message", () => {
  test.each([
    'Nora Nurse',
    "Conan O'Brien-Smith",
    'Dr. Anna Maria Gómez, MD',
    'Мария Иванова',
    '山田 太郎',
    'نیلوفر\u200cها',
    'Zoë (Ward 3)',
    'J. R. Ewing',
    'Dr. Anna',
    'Nora…Nurse',
  ])('is not changed: %s', (name) => {
    expect(shownName(name)).toBe(name)
  })

  test.each([
    ['a link', 'see evil.example'],
    ['a link without its scheme in full width', 'ｅｖｉｌ．example'],
    ['a link with the dot of another script', 'evil。example'],
    ['a link that consists of a symbol', '🏥.ws'],
    ['a link that consists of a letter and a symbol', 'i❤\ufe0f.ws'],
    ['a link that consists of a sign', '×.io'],
    ['a link with an invisible joiner', 'evil.\u200cexample'],
    ['a scheme', 'tg:resolve'],
    ['a mention', '@support'],
    ['a mention in full width', '＠support'],
    ['a hashtag', '#urgent'],
    ['a hashtag in full width', '＃urgent'],
    ['a cashtag', '$CASH'],
    ['a command', '/stop'],
    ['an address', 'nora@clinic'],
    ['markup', '<b>Nora</b>'],
    ['a telephone number', 'Call +49 30 1234'],
    ['a card number', '4111 1111'],
    ['nothing', ' \u200b '],
    ['a very long text', 'a'.repeat(65)],
  ])('is left out if it would become %s', (_what, name) => {
    expect(shownName(name)).toBeUndefined()
  })

  test('is shown without characters that are invisible or change the text direction', () => {
    expect(shownName('Nora\u202eesruN\u202c')).toBe('NoraesruN')
    expect(shownName('No\u200bra\u0007\nNurse')).toBe('Nora Nurse')
    expect(shownName('Nora\t  Nurse')).toBe('Nora Nurse')
  })

  test('never contains control characters, direction marks or line breaks', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (name) => {
        expect(plain(name)).not.toMatch(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\u2028\u2029]/u)
        const shown = shownName(name)
        if (shown !== undefined) expect(shown.normalize('NFKC')).not.toMatch(/[@#$/:<>]/)
      }),
    )
  })
})
