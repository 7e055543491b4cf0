/** Numbers as PostgreSQL's `numeric` writes them, and so `jsonb`: in plain digits, never with an exponent. */

/** From here on JavaScript writes an exponent (ECMA-262, Number::toString). */
const LARGE = 1e21
/** Below this it does as well. */
const SMALL = 1e-6

/** How many characters longer than in JavaScript a number is there: `1e+308` has 309 there, and 6 here. */
export function digitsBeyondJson(number: number): number {
  const size = Math.abs(number)
  // Nearly every number: no text is made for it.
  if ((size < LARGE && size >= SMALL) || size === 0 || !Number.isFinite(size)) return 0
  const text = String(size)
  const at = text.indexOf('e')
  const exponent = Number(text.slice(at + 1))
  const digits = text.startsWith('.', 1) ? at - 1 : at
  // "0." and the zeros behind it, then the digits; or the digits, with zeros up to the point.
  const plain = exponent < 0 ? 1 - exponent + digits : exponent + 1
  return plain - text.length
}
