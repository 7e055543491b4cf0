/** Decompresses a backup, which must be exactly one zstd frame. */
import { createZstdDecompress } from 'node:zlib'
import { UnreadableFile } from './age.ts'
import { ZSTD_CHUNK_BYTES } from './format.ts'
import { through } from './transform.ts'

/** The error codes that Node uses for a damaged or truncated frame. */
const DAMAGED = /^(ZSTD_|Z_BUF_ERROR)/
/** The magic number of a zstd frame (RFC 8878 §3.1.1). */
const MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

/**
 * Yields the decompressed bytes. Throws any error of the source.
 * @param after called with each piece when the caller requests the next one
 * @throws UnreadableFile if the bytes are not zstd, the frame is damaged, or more bytes follow it
 */
export async function* unzstd(
  source: AsyncIterable<Uint8Array>,
  after?: (piece: Buffer) => void,
): AsyncGenerator<Buffer> {
  let read = 0
  async function* counted() {
    for await (const piece of source) {
      if (read === 0 && !MAGIC.equals(piece.subarray(0, MAGIC.length)))
        throw new UnreadableFile('the decrypted content is not compressed with zstd')
      read += piece.length
      yield piece
    }
  }
  const zstd = createZstdDecompress({ chunkSize: ZSTD_CHUNK_BYTES })
  try {
    yield* through(counted(), zstd, after)
  } catch (error) {
    if (DAMAGED.test((error as NodeJS.ErrnoException).code ?? ''))
      throw new UnreadableFile('the decrypted content is not one complete zstd frame', {
        cause: error,
      })
    throw error
  }
  // The decompressor stops at the end of the frame and ignores any bytes after it.
  if (zstd.bytesWritten !== read)
    throw new UnreadableFile('the compressed archive is followed by extra data')
}
