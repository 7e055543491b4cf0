/** What clings to text that people paste: blanks, line breaks, quotes and invisible characters. */

const CLINGING = `[\\s\\p{Cc}\\p{Cf}"'\`\u201c\u201d\u2018\u2019\u00ab\u00bb]`
const AROUND = new RegExp(`^${CLINGING}|${CLINGING}$`, 'u')
const NOTHING_ELSE = /^[\s\p{Cc}\p{Cf}]*$/u

/** Returns true where a pasted secret has blanks, quotes or invisible characters around it: it would be another one. */
export const isBadlyPasted = (secret: string): boolean => AROUND.test(secret)

/** Returns true for text of blanks and invisible characters alone. */
export const isBlank = (text: string): boolean => NOTHING_ELSE.test(text)
