/** Encodes many byte strings as one parameter of a statement. */

const BYTEA = 17
const HEAD_BYTES = 20

/**
 * Encodes a `bytea[]` in PostgreSQL's binary format (`array_send`). The driver's text format takes twice as many bytes,
 * and both sides would parse it byte by byte.
 */
export function byteaArray(parts: readonly (Buffer | null)[]): Buffer {
  const size = parts.reduce((sum, part) => sum + 4 + (part?.length ?? 0), HEAD_BYTES)
  const array = Buffer.allocUnsafe(size)
  let at = 0
  const write = (number: number) => {
    at = array.writeInt32BE(number, at)
  }
  // The array header: number of dimensions, null flag, element type, length and first index.
  for (const number of [1, parts.includes(null) ? 1 : 0, BYTEA, parts.length, 1]) write(number)
  for (const part of parts) {
    write(part?.length ?? -1)
    if (part) at += part.copy(array, at)
  }
  return array
}
