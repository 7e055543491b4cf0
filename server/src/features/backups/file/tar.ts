/** tar as a stream of whole files, each small enough to be in memory: so that its size is known. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { extract, pack } from 'tar-stream'

export interface TarFile {
  name: string
  body: Buffer
}

/** Yields the archive. @param mtime of all its files */
export async function* archive(files: AsyncIterable<TarFile>, mtime: Date): AsyncGenerator<Buffer> {
  const tar = pack()
  // A failure of the files is thrown below; the archive only has to end with it.
  tar.on('error', () => undefined)
  const fed = feed(tar, files, mtime)
  fed.catch((error: Error) => tar.destroy(error))
  try {
    yield* tar as AsyncIterable<Buffer>
  } finally {
    // Also where the reader left early: nobody would take what is fed on.
    tar.destroy()
  }
  await fed
}

async function feed(tar: ReturnType<typeof pack>, files: AsyncIterable<TarFile>, mtime: Date) {
  for await (const { name, body } of files)
    await new Promise<void>((resolve, reject) => {
      const entry = tar.entry({ name, size: body.length, mode: 0o600, mtime }, (error) =>
        error ? reject(error) : resolve(),
      )
      // As a stream, which waits for the reader; a buffer that is handed in does not.
      entry.end(body)
    })
  tar.finalize()
}

/** Yields the files of an archive, one after the other. @param maxBytes of one file */
export async function* unarchive(
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<TarFile> {
  const tar = extract()
  const read = pipeline(Readable.from(source, { objectMode: false }), tar)
  read.catch((error: Error) => tar.destroy(error))
  for await (const entry of tar) {
    const { name, size = 0 } = entry.header
    if (size > maxBytes) throw new Error(`${name} is larger than any file of a backup`)
    yield { name, body: Buffer.concat(await Array.fromAsync(entry as AsyncIterable<Buffer>)) }
  }
  await read
}
