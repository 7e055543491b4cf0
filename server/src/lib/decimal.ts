/** Numbers as PostgreSQL writes `numeric` and `jsonb`: in plain digits, never with an exponent. */

/** The size from which JavaScript writes a number with an exponent (ECMA-262, Number::toString). */
const LARGE = 1e21
const SMALL = 1e-6

/** Returns how many more characters PostgreSQL needs for a number than JavaScript, such as 309 - 6 for `1e+308`. */
export function digitsBeyondJson(number: number): number {
  const size = Math.abs(number)
  // Returns early for nearly every number, to avoid converting it to text.
  if ((size < LARGE && size >= SMALL) || size === 0 || !Number.isFinite(size)) return 0
  const text = String(size)
  const at = text.indexOf('e')
  const exponent = Number(text.slice(at + 1))
  const digits = text.startsWith('.', 1) ? at - 1 : at
  // A negative exponent adds "0." and zeros before the digits. A positive one adds zeros after them.
  const plain = exponent < 0 ? 1 - exponent + digits : exponent + 1
  return plain - text.length
}
