/** Decompresses what a backup holds: one zstd frame, and nothing after it. */
import { createZstdDecompress } from 'node:zlib'
import { UnreadableFile } from './age.ts'
import { ZSTD_CHUNK_BYTES } from './format.ts'
import { through } from './through.ts'

/** Node's codes for a damaged frame and for one that is cut. */
const DAMAGED = /^(ZSTD_|Z_BUF_ERROR)/
/** RFC 8878 §3.1.1. */
const MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

/**
 * Yields the decompressed bytes. Throws what the source throws.
 * @param after called with each piece once the next is asked for
 * @throws UnreadableFile for another format, a damaged frame, or bytes after the frame
 */
export async function* unzstd(
  source: AsyncIterable<Uint8Array>,
  after?: (piece: Buffer) => void,
): AsyncGenerator<Buffer> {
  let read = 0
  async function* counted() {
    for await (const piece of source) {
      if (read === 0 && !MAGIC.equals(piece.subarray(0, MAGIC.length)))
        throw new UnreadableFile('what was encrypted is not compressed with zstd')
      read += piece.length
      yield piece
    }
  }
  const zstd = createZstdDecompress({ chunkSize: ZSTD_CHUNK_BYTES })
  try {
    yield* through(counted(), zstd, after)
  } catch (error) {
    if (DAMAGED.test((error as NodeJS.ErrnoException).code ?? ''))
      throw new UnreadableFile('what was encrypted is not one whole zstd frame', { cause: error })
    throw error
  }
  // The decompressor stops at the end of the frame and leaves what follows.
  if (zstd.bytesWritten !== read) throw new UnreadableFile('bytes follow the compressed archive')
}
