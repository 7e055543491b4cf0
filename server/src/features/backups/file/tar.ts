/** Reads and writes tar archives as streams of files. The size of each file is known before its contents. */
import { UnreadableFile } from './age.ts'

const BLOCK = 512
/** The maximum number of empty blocks after the last file. The format requires two; tar programs write up to 20. */
const MAX_END_BLOCKS = 20

export interface TarFile {
  name: string
  body: readonly Uint8Array[]
}

export interface TarEntry {
  name: string
  size: number
  /** The contents of the file, in one or more pieces. Must be read completely before requesting the next file. */
  body: AsyncIterable<Buffer>
}

/** Yields an archive with the files, without copying their contents. @param mtime the modification time of all files */
export async function* archive(
  files: AsyncIterable<TarFile>,
  mtime: Date,
): AsyncGenerator<Uint8Array> {
  for await (const { name, body } of files) {
    const size = body.reduce((sum, { length }) => sum + length, 0)
    yield headerOf(name, size, mtime)
    yield* body
    yield Buffer.alloc(padding(size))
  }
  yield Buffer.alloc(2 * BLOCK)
}

const padding = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK

/** Returns the POSIX ustar header of a file that only its owner may read. */
function headerOf(name: string, size: number, mtime: Date): Buffer {
  const header = Buffer.alloc(BLOCK)
  const octal = (value: number, at: number, length: number) =>
    header.write(value.toString(8).padStart(length - 1, '0'), at)
  header.write(name, 0, 100)
  octal(0o600, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(size, 124, 12)
  octal(Math.floor(mtime.getTime() / 1000), 136, 12)
  // The checksum is computed as if its own field contained blanks.
  header.write('        ', 148)
  header.write('0', 156)
  header.write('ustar\u000000', 257)
  octal(
    header.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  )
  header[154] = 0
  return header
}

/**
 * Yields the files of an archive in order. Copies bytes that it keeps, because the source may reuse its memory.
 * @param maxBytes the maximum size of one file
 * @throws UnreadableFile if the bytes are not an archive, or the archive is truncated
 */
export async function* unarchive(
  source: AsyncIterable<Buffer>,
  maxBytes: number,
): AsyncGenerator<TarEntry> {
  const chunks = source[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)

  /** Returns the next piece, at most `most` bytes long. Returns undefined at the end of the source. */
  async function next(most: number): Promise<Buffer | undefined> {
    while (rest.length === 0) {
      const { done, value } = await chunks.next()
      if (done) return undefined
      rest = value
    }
    const piece = rest.subarray(0, most)
    rest = rest.subarray(piece.length)
    return piece
  }

  async function* take(bytes: number): AsyncGenerator<Buffer> {
    for (let left = bytes; left > 0; ) {
      const piece = await next(left)
      if (!piece) throw new UnreadableFile('the archive is truncated')
      left -= piece.length
      yield piece
    }
  }

  async function takeHeader(): Promise<Buffer | undefined> {
    const first = await next(BLOCK)
    if (!first) return undefined
    // Copies the pieces, because the source may reuse their memory before the header is complete.
    const pieces = [Buffer.from(first)]
    for await (const piece of take(BLOCK - first.length)) pieces.push(Buffer.from(piece))
    return Buffer.concat(pieces)
  }

  let endBlocks = 0
  try {
    for (let header = await takeHeader(); header; header = await takeHeader()) {
      if (header.every((byte) => byte === 0)) {
        endBlocks += 1
        // Reads on to the end of the source, which verifies that the source is complete.
        if (endBlocks > MAX_END_BLOCKS)
          throw new UnreadableFile('the archive has data after its end')
        continue
      }
      if (endBlocks > 0) throw new UnreadableFile('the archive has data after its end')
      const { name, size } = readHeader(header)
      if (size > maxBytes) throw new UnreadableFile(`${name} is too large for a file of a backup`)
      yield { name, size, body: take(size) }
      for await (const _ of take(padding(size)));
    }
  } finally {
    await chunks.return?.()
  }
}

function readHeader(header: Buffer): { name: string; size: number } {
  const text = (at: number, length: number) =>
    header.toString('latin1', at, at + length).replace(/\0.*$/s, '')
  const size = Number.parseInt(text(124, 12), 8)
  if (text(257, 5) !== 'ustar' || !Number.isSafeInteger(size))
    throw new UnreadableFile('the decrypted content is not an archive')
  return { name: text(0, 100), size }
}

/** Returns the contents of a small file. @throws UnreadableFile if the file has more than `maxBytes` bytes */
export async function readToEnd({ name, size, body }: TarEntry, maxBytes: number): Promise<Buffer> {
  if (size > maxBytes) throw new UnreadableFile(`${name} is too large`)
  const pieces: Buffer[] = []
  for await (const piece of body) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces)
}
