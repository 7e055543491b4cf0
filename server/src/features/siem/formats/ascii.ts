/** Text in printable ASCII, so that no receiver guesses an encoding and no text ends a message early. */

/** Escapes everything but printable ASCII as `\u`, one escape for each UTF-16 code unit (as in RFC 8259, 7). */
export const asciiOf = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, escapeUnit)

const escapeUnit = (unit: string): string =>
  `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Returns JSON in printable ASCII. JSON already escapes control characters. */
export const asciiJson = (value: unknown): string => asciiOf(JSON.stringify(value))
