/**
 * Releases the memory of an unused chunk that is the last part of its buffer. The garbage collector would scan the heap
 * about a hundred times for gigabytes of chunks, and keep about 100 MB allocated.
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
