/** Splits a stream between rows. In COPY's text format each line break ends a row, because values contain none. */

const LINE_BREAK = 10
/** Returns a Buffer that shares the memory of the array. */
export const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)
/** The size of each allocated block of memory. */
const BLOCK_BYTES = 1024 * 1024

/** Yields complete rows in pieces of any size. Copies only rows that are spread over several chunks. */
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
 * Groups rows into parts, each as a list of memory blocks. Two sets of blocks are reused in turn to avoid garbage. A
 * part therefore stays valid until the second part after it is requested.
 * @param size the minimum size of a part; only the last part may be smaller
 */
export async function* inParts(
  rows: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<Buffer[]> {
  const rooms: Buffer[][] = [[], []]
  const open = () => {
    const room = rooms.shift() ?? []
    // Frees the additional blocks that an unusually large part needed.
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

/** @param room the memory blocks of the part; more blocks are allocated as needed */
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

/** Yields the values of a source, fetching the next value while the caller processes the current one. */
export async function* ahead<T>(source: AsyncGenerator<T>): AsyncGenerator<T> {
  let next = source.next()
  try {
    for (;;) {
      const { done, value } = await next
      if (done) return
      next = source.next()
      // Prevents an unhandled rejection. When the loop awaits this promise, it throws the error.
      next.catch(() => undefined)
      yield value
    }
  } finally {
    await source.return(undefined)
  }
}
