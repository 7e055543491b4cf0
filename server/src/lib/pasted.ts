/** Characters that people often paste with a text: blanks, line breaks, quotes and invisible characters. */

const CLINGING = `[\\s\\p{Cc}\\p{Cf}"'\`\u201c\u201d\u2018\u2019\u00ab\u00bb]`
const AROUND = new RegExp(`^${CLINGING}|${CLINGING}$`, 'u')
const NOTHING_ELSE = /^[\s\p{Cc}\p{Cf}]*$/u

/** Returns true if a pasted secret has blanks, quotes or invisible characters around it, which would change it. */
export const isBadlyPasted = (secret: string): boolean => AROUND.test(secret)

const QUOTED =
  /^["\u201c\u201d\u201e\u00ab\u00bb]([^"\u201c\u201d\u201e\u00ab\u00bb]*)["\u201c\u201d\u00ab\u00bb]$/u

/** Returns a line without double quotes if they enclose the whole line. Other quotes stay. */
export const withoutQuotes = (line: string): string => QUOTED.exec(line)?.[1]?.trim() ?? line

/** Returns a phone number or another code without the direction marks that contact lists add. */
export const withoutDirections = (text: string): string =>
  text.replaceAll(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '').trim()

/** Returns true for text that consists only of blanks and invisible characters. */
export const isBlank = (text: string): boolean => NOTHING_ELSE.test(text)

export const typedCode = (code: string): string =>
  code
    .normalize('NFKC')
    .replaceAll(/[\p{Z}\p{C}\p{Pd}\u2212\p{Default_Ignorable_Code_Point}]/gu, '')
