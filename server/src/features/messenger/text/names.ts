/** Prepares names of people for chats, and rejects names that a client would turn into links or commands. */

const LONGEST = 64
/** Characters that are invisible, or that change the direction of the following text. */
const INVISIBLE =
  /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu
/** Invisible characters that join or separate letters. Persian and Indic scripts need them. */
const JOINERS = /[\u200c\u200d]/g
/**
 * Matches text that chat clients interpret: mentions (@), hashtags (#), cashtags ($), commands and paths (/), schemes
 * (:), and markup. Also matches a dot before a letter or digit, which makes a domain, and digits that make a telephone
 * or card number.
 */
const LIVELY = /[@#$/\\:<>*_`~|[\]=?&%]|[^\s.][.。][\p{L}\p{N}]|(?:\d[\s().-]*){5}/u

/** Returns text on one line, without control characters and without characters that change its direction. */
export function plain(text: string): string {
  return text.normalize('NFC').replaceAll(/\s+/gu, ' ').replaceAll(INVISIBLE, '').trim()
}

/** Returns the name for display, or undefined if a chat client would interpret the name as a link or command. */
export function shownName(name: string): string | undefined {
  const shown = plain(name)
  const read = shown.replaceAll(JOINERS, '').normalize('NFKC')
  return read === '' || shown.length > LONGEST || LIVELY.test(read) ? undefined : shown
}
