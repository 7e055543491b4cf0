/** Tests the fold of names, which decides whether two texts are the same name. */
import { expect, it } from 'vitest'
import { foldName, foldText, nameKey } from './fold.ts'

it.each([
  ['letters with a stroke', 'Łukasz Wałęsa', 'Lukasz Walesa'],
  ['Nordic letters', 'Bjørn Sørensen', 'BJORN SORENSEN'],
  ['South Slavic letters', 'Đorđe Đukić', 'Dorde Dukic'],
  ['Maltese letters', 'Ħal Għaxaq', 'Hal Ghaxaq'],
  ['ligatures', 'Æsa Œuvre', 'aesa oeuvre'],
  ['thorn and sharp s', 'Þóra Strauß STRAUẞ', 'thora strauss strauss'],
  ['Turkish capitals', 'IŞIK YILDIRIM İnci', 'Işık Yıldırım inci'],
  ['final sigma', 'ΟΔΥΣΣΕΥΣ', 'Οδυσσεύς'],
  ['Arabic hamza', 'أحمد إبراهيم آل', 'احمد ابراهيم ال'],
  ['Arabic vowel marks and tatweel', 'مُحَمَّد ســالم', 'محمد سالم'],
  ['alef maksura and teh marbuta', 'ليلى فاطمة', 'ليلي فاطمه'],
  ['Persian yeh and kaf', 'علی کریمی', 'علي كريمي'],
  ['Hebrew points', 'שָׁלוֹם', 'שלום'],
  ['Devanagari and Thai digits', 'Ward १२ ๓', 'ward 12 3'],
  ['Arabic-Indic and Persian digits', 'B ٤٥ ۶۷', 'b 45 67'],
  ['wide letters and digits', 'Ｗａｒｄ　１２', 'ward 12'],
  [
    'apostrophes of every kind',
    'O’Brien Oʼbrien Oʻbrien O`Brien O´Brien',
    "OBrien O'brien obrien obrien obrien",
  ],
  ['hyphens, dashes and punctuation', 'Anne–Marie (Müller), Dr.', 'anne marie muller dr'],
  ['blanks of every kind', 'Anna\u00a0\u2003 Maria\t', 'anna maria'],
  ['invisible characters', 'An\u200bna Ma\u00adria\u200e', 'anna maria'],
  ['a CJK name with and without a blank', '山田\u3000太郎', '山田太郎'],
  ['a Korean name with and without a blank', '김 민수', '김민수'],
  ['half-width katakana', 'ﾔﾏﾀﾞ', 'ヤマタ'],
])('name folding maps %s to the same text', (_what, one, other) => {
  expect(foldName(one)).toBe(foldName(other))
  expect(foldName(one)).not.toBe('')
})

it.each([
  ['Latin words with and without a blank', 'Anna Maria', 'Annamaria'],
  ['a CJK name and a Latin one', '山田 Taro', '山田Taro'],
  ['other letters', 'Adler', 'Adlen'],
  ['other digits', 'Ward १', 'Ward 2'],
])('name folding maps these to different texts: %s', (_what, one, other) => {
  expect(foldName(one)).not.toBe(foldName(other))
})

it('name folding maps every decimal digit of Unicode to its value', () => {
  const seen = new Map<number, string>()
  for (let code = 0; code <= 0x10ffff; code += 1) {
    if (code >= 0xd800 && code <= 0xdfff) continue
    const character = String.fromCodePoint(code)
    if (/\p{Nd}/u.test(character)) seen.set(code, foldText(character))
  }
  // Each script has ten consecutive digits.
  const codes = [...seen.keys()]
  expect(codes.length % 10).toBe(0)
  expect(codes.map((code) => seen.get(code))).toEqual(codes.map((_, index) => String(index % 10)))
})

it('name folding does not change a folded name when it is folded again', () => {
  for (const name of ['Łukasz Wałęsa', 'שָׁלוֹם', '山田\u3000太郎', 'IŞIK', 'Straße 12'])
    expect(foldName(foldName(name))).toBe(foldName(name))
})

it('the sort order of names uses the folded name, then by the name', () => {
  const names = ['Zoe', 'adam', 'Ärzte', 'Adler', 'Émile', 'eve', 'de Vries', 'DeVos', 'Adam']
  const ordered = names.toSorted((a, b) => (nameKey(a) < nameKey(b) ? -1 : 1))
  expect(ordered).toEqual([
    'Adam',
    'adam',
    'Adler',
    'Ärzte',
    'de Vries',
    'DeVos',
    'Émile',
    'eve',
    'Zoe',
  ])
})

it('name folding maps a text without letters to an empty text', () => {
  expect(foldName(" '-. ")).toBe('')
})
