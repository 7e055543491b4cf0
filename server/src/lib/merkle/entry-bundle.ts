/** Bundles of log entries (C2SP tlog-tiles). */

/** The length of an entry is a 16-bit integer. */
export const MAX_ENTRY_BYTES = 65_535

/**
 * Returns the entries below a tile, each after its length as a big-endian integer.
 * @throws RangeError if an entry is longer than `MAX_ENTRY_BYTES`
 */
export function entryBundle(contents: readonly string[]): Buffer {
  return Buffer.concat(
    contents.flatMap((text) => {
      const content = Buffer.from(text)
      const length = Buffer.alloc(2)
      length.writeUInt16BE(content.length)
      return [length, content]
    }),
  )
}
