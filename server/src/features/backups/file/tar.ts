/** tar as a stream of files, whose sizes are known before their bytes come. */
import { UnreadableFile } from './age.ts'

const BLOCK = 512
/** Two empty blocks end an archive; other programs fill up to a record of twenty blocks. */
const MAX_END_BLOCKS = 20

export interface TarFile {
  name: string
  /** Its bytes, in pieces. */
  body: readonly Uint8Array[]
}

/** A file as it is read. */
export interface ReadFile {
  name: string
  size: number
  /** Its bytes, in pieces, which are to be read to their end before the next file. */
  body: AsyncIterable<Buffer>
}

/** Yields the archive; what a file holds as it is, without a copy. @param mtime of all its files */
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

/** Files fill whole blocks. */
const padding = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK

/** The header of a file that its owner alone may read (POSIX ustar). */
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
  // The sum is of a header with blanks in its own place.
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
 * Yields the files of an archive, one after the other. What it holds on to are copies.
 * @param maxBytes of one file
 * @throws UnreadableFile where it is none, or is cut
 */
export async function* unarchive(
  source: AsyncIterable<Buffer>,
  maxBytes: number,
): AsyncGenerator<ReadFile> {
  const chunks = source[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)

  /** So many bytes as they come; undefined where nothing is left. */
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
      if (!piece) throw new UnreadableFile('the archive is cut')
      left -= piece.length
      yield piece
    }
  }

  async function takeHeader(): Promise<Buffer | undefined> {
    const first = await next(BLOCK)
    if (!first) return undefined
    // It is looked at behind the pieces that it came in.
    const pieces = [Buffer.from(first)]
    for await (const piece of take(BLOCK - first.length)) pieces.push(Buffer.from(piece))
    return Buffer.concat(pieces)
  }

  let endBlocks = 0
  try {
    for (let header = await takeHeader(); header; header = await takeHeader()) {
      if (header.every((byte) => byte === 0)) {
        endBlocks += 1
        // The source is read to its end all the same, which proves that it is whole.
        if (endBlocks > MAX_END_BLOCKS)
          throw new UnreadableFile('the archive goes on after its end')
        continue
      }
      if (endBlocks > 0) throw new UnreadableFile('the archive goes on after its end')
      const { name, size } = readHeader(header)
      if (size > maxBytes) throw new UnreadableFile(`${name} is larger than any file of a backup`)
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
    throw new UnreadableFile('what was encrypted is no archive')
  return { name: text(0, 100), size }
}

/** Returns all bytes of a small file. @throws UnreadableFile when it has more than `maxBytes` */
export async function bytesOf({ name, size, body }: ReadFile, maxBytes: number): Promise<Buffer> {
  if (size > maxBytes) throw new UnreadableFile(`${name} is larger than that of any backup`)
  const pieces: Buffer[] = []
  for await (const piece of body) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces)
}
