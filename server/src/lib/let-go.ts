/**
 * Gives the memory of a piece back that nobody uses any more, where no other follows in it. Left to be
 * collected, gigabytes of pieces would have the collector walk through the whole heap a hundred times, and
 * take a hundred megabytes in between.
 */
export function letGo({ buffer, byteOffset, byteLength }: Uint8Array): void {
  const isLast = byteOffset + byteLength === buffer.byteLength
  // Small ones lie in a pool among those of others.
  const isAlone = byteOffset === 0 || buffer.byteLength > Buffer.poolSize
  if (isLast && isAlone) (buffer as ArrayBuffer).transfer(0)
}

/** The same pieces, each let go once the next is asked for. */
export async function* lettingGo(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of source) {
    yield piece
    letGo(piece)
  }
}
