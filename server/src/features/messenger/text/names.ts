/** Names of people as they may stand in a chat: what a client would turn into something else does not. */

const LONGEST = 64
/** What shows nothing, or turns the direction of what follows. */
const UNSEEN =
  /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu
/** Joins letters or keeps them apart, as Persian and Indic scripts need it. */
const JOINERS = /[\u200c\u200d]/g
/**
 * Mentions (@), hashtags (#), cashtags ($), commands and paths (/), schemes (:), marks of markup, a dot
 * between anything and a letter or digit, which makes a domain, of symbols too, and digits that make a telephone or card number.
 */
const LIVELY = /[@#$/\\:<>*_`~|[\]=?&%]|[^\s.][.。][\p{L}\p{N}]|(?:\d[\s().-]*){5}/u

/** Returns text on one line, without control characters and without those that turn its direction. */
export function plain(text: string): string {
  return text.normalize('NFC').replaceAll(/\s+/gu, ' ').replaceAll(UNSEEN, '').trim()
}

/** Returns the name as it can be shown; undefined where a client would make more of it than a name. */
export function shownName(name: string): string | undefined {
  const shown = plain(name)
  const read = shown.replaceAll(JOINERS, '').normalize('NFKC')
  return read === '' || shown.length > LONGEST || LIVELY.test(read) ? undefined : shown
}
