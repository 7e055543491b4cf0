/**
 * The one fold of names, for search, duplicates, uniqueness and order: texts that people take for the same name become
 * equal (decisions §1). Stored folds and search tokens depend on it: raise `FOLD_VERSION` with every change.
 */

/** The version of the fold. Stored search tokens of an earlier one are computed again. */
export const FOLD_VERSION = 2

/** Apostrophes, primes and the letters and marks that are typed in their place. Before NFKD, which splits some. */
const APOSTROPHES =
  /['`\u00b4\u02b9\u02bb-\u02bf\u02c8\u02ca\u02cb\u0374\u0384\u055a\u05f3\u07f4\u07f5\u1fbd\u1fbf\u1fef\u1ffd\u1ffe\u2018-\u201b\u2032\u2035\u275b\u275c\ua78b\ua78c\uff07\uff40]/gu

/** Combining marks of every script, the tatweel, and what is neither seen nor spoken. */
const DROPPED = /[\p{M}\u0640\p{Default_Ignorable_Code_Point}]/gu

/** Letters without a decomposition, in lower case, by the letters they are typed as. */
const LETTERS: Readonly<Record<string, string>> = {
  ı: 'i',
  ς: 'σ',
  ł: 'l',
  ƚ: 'l',
  ø: 'o',
  ɵ: 'o',
  đ: 'd',
  ð: 'd',
  ɖ: 'd',
  ɗ: 'd',
  æ: 'ae',
  œ: 'oe',
  þ: 'th',
  ħ: 'h',
  ŧ: 't',
  ƭ: 't',
  ŋ: 'n',
  ɲ: 'n',
  ɓ: 'b',
  ƀ: 'b',
  ƈ: 'c',
  ȼ: 'c',
  ɇ: 'e',
  ƒ: 'f',
  ǥ: 'g',
  ɠ: 'g',
  ɨ: 'i',
  ɉ: 'j',
  ƙ: 'k',
  ĸ: 'k',
  ƥ: 'p',
  ɍ: 'r',
  ʉ: 'u',
  ʋ: 'v',
  ɏ: 'y',
  ƴ: 'y',
  ƶ: 'z',
  // Arabic, Persian, Urdu and Kurdish: alef, yeh, kaf, and heh with teh marbuta.
  ٱ: 'ا',
  ٲ: 'ا',
  ٳ: 'ا',
  ٴ: '',
  ى: 'ي',
  ی: 'ي',
  ێ: 'ي',
  ې: 'ي',
  ۍ: 'ي',
  ے: 'ي',
  ک: 'ك',
  ڪ: 'ك',
  ة: 'ه',
  ۃ: 'ه',
  ہ: 'ه',
  ھ: 'ه',
  ە: 'ه',
}
const MAPPED = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'gu')

const CJK = '[\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Hang}]'
const BETWEEN_CJK = new RegExp(`(?<=${CJK}) (?=${CJK})`, 'gu')

/** Returns a text in lower case, without marks and invisible characters, with ASCII digits. Punctuation stays. */
export function foldText(text: string): string {
  const bare = withoutMarks(withoutMarks(text).replaceAll(/[^\u0131]+/gu, foldCase))
  return bare
    .replaceAll(MAPPED, (letter) => LETTERS[letter] as string)
    .replaceAll(/\p{Nd}/gu, digit)
}

/**
 * Returns a name folded: one blank for hyphens, blanks and punctuation, none between CJK characters, and no apostrophes.
 * Empty for a text without a letter, digit or symbol.
 */
export function foldName(name: string): string {
  return foldText(name.replaceAll(APOSTROPHES, ''))
    .replaceAll(/[^\p{L}\p{N}\p{S}]+/gu, ' ')
    .trim()
    .replaceAll(BETWEEN_CJK, '')
}

/** Returns the words of a folded name in one order, for names that are written the family name first or last. */
export const foldWords = (name: string): string =>
  foldName(name).split(' ').sort().join(' ').replaceAll(BETWEEN_CJK, '')

/** Separates the fold from the name in a key: below all characters of a name. */
const SEPARATOR = '\u0001'

/** Characters of a fold in a key, which an index holds. A few characters fold to many. */
const MAX_FOLDED = 200

/** Returns what lists of names are ordered by: the folded name, then the name itself. */
export function nameKey(name: string): string {
  const folded = foldName(name)
  const short = folded.length > MAX_FOLDED ? [...folded].slice(0, MAX_FOLDED).join('') : folded
  return `${short}${SEPARATOR}${name}`
}

// Characters that meet once others are dropped may have an order of their own.
const withoutMarks = (text: string) => text.normalize('NFKD').replaceAll(DROPPED, '')

/** Full case folding: by way of the capitals ß is ss, and a capital ẞ too. A dotless ı has none of its own. */
const foldCase = (text: string) => text.toLowerCase().toUpperCase().toLowerCase()

/** Returns the ASCII digit. The digits of each script are ten code points in a row, and rows may follow each other. */
function digit(character: string): string {
  const code = character.codePointAt(0) as number
  let first = code
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first -= 1
  return String((code - first) % 10)
}
