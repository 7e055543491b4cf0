/** Rows in COPY's text format, cut where a row ends: a line break within a value is written as \n. */

const LINE_BREAK = 10
/** The very bytes. */
export const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)
/** Room is taken in blocks of this size. */
const BLOCK_BYTES = 1024 * 1024

/** The rows in pieces of any size, without a copy but of those that came in two. */
export async function* wholeRows(rows: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let begun: Buffer[] = []
  for await (const bytes of rows) {
    const chunk = asBuffer(bytes)
    const end = chunk.lastIndexOf(LINE_BREAK) + 1
    let from = 0
    if (begun.length > 0 && end > 0) {
      from = chunk.indexOf(LINE_BREAK) + 1
      yield Buffer.concat([...begun, chunk.subarray(0, from)])
      begun = []
    }
    if (end > from) yield chunk.subarray(from, end)
    if (end < chunk.length) begun.push(Buffer.from(chunk.subarray(end)))
  }
  if (begun.length > 0) yield Buffer.concat(begun)
}

/**
 * The rows in parts, each in blocks. The bytes of a part are good until the one behind the next is asked
 * for: they lie in the same two rooms by turns, so that none is left to be collected.
 * @param size that a part has at the least, but for the last
 */
export async function* inParts(
  rows: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<Buffer[]> {
  const rooms: Buffer[][] = [[], []]
  const open = () => {
    const room = rooms.shift() ?? []
    // Of a part that was huge not all is kept.
    room.splice(Math.ceil(size / BLOCK_BYTES) + 1)
    rooms.push(room)
    return openPart(room)
  }
  let part = open()
  for await (const bytes of rows) {
    const chunk = asBuffer(bytes)
    const end = part.bytes() + chunk.length < size ? 0 : chunk.lastIndexOf(LINE_BREAK) + 1
    if (end > 0) {
      part.add(chunk.subarray(0, end))
      yield part.end()
      part = open()
    }
    part.add(chunk.subarray(end))
  }
  if (part.bytes() > 0) yield part.end()
}

/** @param room its blocks, which are added to as it takes */
function openPart(room: Buffer[]) {
  let bytes = 0
  return {
    bytes: () => bytes,
    add(chunk: Buffer) {
      for (let from = 0; from < chunk.length; ) {
        const index = Math.floor(bytes / BLOCK_BYTES)
        room[index] ??= Buffer.allocUnsafeSlow(BLOCK_BYTES)
        const taken = chunk.copy(room[index], bytes % BLOCK_BYTES, from)
        from += taken
        bytes += taken
      }
    },
    end: (): Buffer[] =>
      room
        .slice(0, Math.ceil(bytes / BLOCK_BYTES))
        .map((block, index) => block.subarray(0, bytes - index * BLOCK_BYTES)),
  }
}

/** The same values, of which the next is on its way while one is at work. */
export async function* ahead<T>(source: AsyncGenerator<T>): AsyncGenerator<T> {
  let next = source.next()
  try {
    for (;;) {
      const { done, value } = await next
      if (done) return
      next = source.next()
      // Heard once it is this one's turn, if anybody still asks.
      next.catch(() => undefined)
      yield value
    }
  } finally {
    await source.return(undefined)
  }
}
