/**
 * The fold of names for search, duplicates, uniqueness and order (decisions §1). Stored folds and search tokens depend
 * on it, so every change must raise `FOLD_VERSION`.
 */

/** The version of the fold. Search tokens of an earlier version are computed again. */
export const FOLD_VERSION = 2

/** Apostrophes, primes and similar marks. They are removed before NFKD, which would split some of them. */
const APOSTROPHES =
  /['`\u00b4\u02b9\u02bb-\u02bf\u02c8\u02ca\u02cb\u0374\u0384\u055a\u05f3\u07f4\u07f5\u1fbd\u1fbf\u1fef\u1ffd\u1ffe\u2018-\u201b\u2032\u2035\u275b\u275c\ua78b\ua78c\uff07\uff40]/gu

/** Characters to remove: combining marks of every script, the tatweel, and invisible characters. */
const DROPPED = /[\p{M}\u0640\p{Default_Ignorable_Code_Point}]/gu

/** Lower-case letters without a decomposition, mapped to the letters that people type for them. */
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

/** Returns a text in lower case, without marks and invisible characters, with ASCII digits. Keeps punctuation. */
export function foldText(text: string): string {
  const bare = withoutMarks(withoutMarks(text).replaceAll(/[^\u0131]+/gu, foldCase))
  return bare
    .replaceAll(MAPPED, (letter) => LETTERS[letter] as string)
    .replaceAll(/\p{Nd}/gu, digit)
}

/**
 * Returns a folded name without apostrophes. Hyphens, blanks and punctuation become one blank, or nothing between CJK
 * characters. The result is empty for a text without a letter, digit or symbol.
 */
export function foldName(name: string): string {
  return foldText(name.replaceAll(APOSTROPHES, ''))
    .replaceAll(/[^\p{L}\p{N}\p{S}]+/gu, ' ')
    .trim()
    .replaceAll(BETWEEN_CJK, '')
}

/** Returns the sorted words of a folded name, because some people write the family name first and others last. */
export const foldWords = (name: string): string =>
  foldName(name).split(' ').sort().join(' ').replaceAll(BETWEEN_CJK, '')

/** The separator between the folded name and the original name in a key. It sorts before all characters of a name. */
const SEPARATOR = '\u0001'

/** The maximum number of folded characters in a key. Keys are indexed, and a few characters fold to many. */
const MAX_FOLDED = 200

export function nameKey(name: string): string {
  const folded = foldName(name)
  const short = folded.length > MAX_FOLDED ? [...folded].slice(0, MAX_FOLDED).join('') : folded
  return `${short}${SEPARATOR}${name}`
}

// Normalizes again after removing marks. Characters that have become adjacent may have to be reordered.
const withoutMarks = (text: string) => text.normalize('NFKD').replaceAll(DROPPED, '')

/** Applies full case folding: capitals and back turn ß and ẞ into ss. The caller excludes the dotless ı. */
const foldCase = (text: string) => text.toLowerCase().toUpperCase().toLowerCase()

/** Returns the ASCII digit for a decimal digit. Each script has ten consecutive digits; two scripts may be adjacent. */
function digit(character: string): string {
  const code = character.codePointAt(0) as number
  let first = code
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first -= 1
  return String((code - first) % 10)
}
