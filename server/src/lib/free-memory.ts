/**
 * Releases the memory of a chunk that is no longer used, if the chunk is the last part of its buffer. If gigabytes of
 * chunks were left to the garbage collector, it would scan the heap about a hundred times and keep about a hundred
 * megabytes allocated.
 */
export function releaseChunk({ buffer, byteOffset, byteLength }: Uint8Array): void {
  const isLast = byteOffset + byteLength === buffer.byteLength
  // Small buffers share a memory pool, which must not be released.
  const isAlone = byteOffset === 0 || buffer.byteLength > Buffer.poolSize
  if (isLast && isAlone) (buffer as ArrayBuffer).transfer(0)
}

/** Yields the same chunks as `source`. Releases each chunk when the caller requests the next one. */
export async function* releasingChunks(
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for await (const piece of source) {
    yield piece
    releaseChunk(piece)
  }
}
