/**
 * The one spelling of what patients are found by (decisions §8): two texts that mean the same become the
 * same, so that equality finds them. What is kept as tokens was made with it; a change of it has to make
 * them anew.
 */

/** A dotless i is no i, in Unicode's folding as in Turkish: the round over capitals would make it one. */
const ALL_BUT_DOTLESS_I = /[^\u0131]+/gu
const MARKS = /[\u0300-\u036f]/gu
/** Neither seen nor spoken, such as a soft hyphen or a mark of direction. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu

/** NFKD without the marks U+0300–036F, and Unicode's full case folding: ß is ss. */
function fold(text: string): string {
  return decomposed(decomposed(text).replaceAll(ALL_BUT_DOTLESS_I, foldCase))
}

const decomposed = (text: string) => without(INVISIBLE, without(MARKS, text.normalize('NFKD')))

/** Marks that meet where something was between them stand in Unicode's order, as if nothing had been. */
const without = (pattern: RegExp, text: string) => text.replaceAll(pattern, '').normalize('NFKD')

/** A capital ẞ has no longer capital but for its small form; a final ς is a σ. */
const foldCase = (text: string) =>
  text.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ')

/** The words of a name in one order, with a space between: empty for what has no letter or digit. */
export function normalName(name: string): string {
  return fold(name)
    .split(/[^\p{L}\p{N}\p{M}\p{S}]+/u)
    .filter((word) => word !== '')
    .sort()
    .join(' ')
}

/** An identifier, or a part of one, without spaces, dots and dashes. */
export function normalIdentifier(text: string): string {
  return without(/[\s\p{Z}.\p{Pd}\u2212]+/gu, fold(text))
}

/** A phone number without spaces and punctuation; its plus stays. */
export function normalPhone(phone: string): string {
  return without(/[\s\p{Z}\p{P}\u2212]+/gu, fold(phone))
}

/** An address for mails: all of its signs count. */
export function normalMail(mail: string): string {
  return without(/[\s\p{Z}]+/gu, fold(mail))
}
