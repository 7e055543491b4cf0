/** Splits bytes into lines of a bounded length, so that reading any file takes little memory. */

const NEWLINE = 0x0a

/** A file that is not made of lines, or has a longer line than its format allows. The message is for people. */
export class MalformedLines extends Error {}

/**
 * Yields the complete lines of each chunk, without their newlines, decoded as UTF-8.
 * @param maxBytes the maximum length of a line
 * @throws MalformedLines if a line is longer, or the last line has no newline
 */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<string[]> {
  let begun: Uint8Array[] = []
  let begunBytes = 0
  let number = 1
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(NEWLINE)
    const first = end < 0 ? chunk.length : chunk.indexOf(NEWLINE)
    if (begunBytes + first > maxBytes || chunk.length - end - 1 > maxBytes)
      throw new MalformedLines(`Line ${number} or a later one is longer than ${maxBytes} bytes.`)
    if (end < 0) {
      begun.push(chunk)
      begunBytes += chunk.length
      continue
    }
    const lines = Buffer.concat([...begun, chunk.subarray(0, end)])
      .toString()
      .split('\n')
    begun = [chunk.subarray(end + 1)]
    begunBytes = chunk.length - end - 1
    number += lines.length
    yield lines
  }
  if (begunBytes > 0) throw new MalformedLines(`Line ${number} is cut: it has no end.`)
}
