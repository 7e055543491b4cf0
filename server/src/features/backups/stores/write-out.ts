/** Writes a file in large blocks and flushes it as it grows. The source produces blocks while others are written. */
import type { FileHandle } from 'node:fs/promises'

const BLOCK_BYTES = 1024 * 1024
/** The number of bytes after which the file is flushed. A single flush at the end would take too long. */
const SYNC_EVERY = 32 * BLOCK_BYTES

/**
 * Writes a source to a file. Returns when every byte is durable. Throws any error of the source, the disk or `before`,
 * after waiting for running writes.
 * @param before called before each block is written, with the size of the block
 */
export async function writeOut(
  file: FileHandle,
  source: AsyncIterable<Uint8Array>,
  before: (bytes: number) => Promise<void>,
): Promise<void> {
  const writing = oneAtATime()
  const syncing = oneAtATime()
  let unsynced = 0
  try {
    for await (const block of inBlocks(source)) {
      await before(block.length)
      await writing.next(() => file.writeFile(block))
      unsynced += block.length
      if (unsynced < SYNC_EVERY) continue
      unsynced = 0
      await syncing.next(() => file.datasync())
    }
    await writing.end()
    await syncing.end()
    await file.sync()
  } finally {
    await Promise.allSettled([writing.end(), syncing.end()])
  }
}

/** Returns a function that runs tasks one at a time. Each call waits for the previous task and throws its error. */
function oneAtATime() {
  let last = Promise.resolve()
  return {
    async next(work: () => Promise<void>): Promise<void> {
      await last
      last = work()
      // Prevents an unhandled rejection. The next call of `next` or `end` throws the error.
      last.catch(() => undefined)
    },
    end: () => last,
  }
}

/** Groups bytes into blocks. Two buffers alternate, so a block stays valid until the second block after it. */
async function* inBlocks(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let [room, other] = [Buffer.allocUnsafeSlow(BLOCK_BYTES), Buffer.allocUnsafeSlow(BLOCK_BYTES)]
  let length = 0
  for await (const piece of source)
    for (let from = 0; from < piece.length; ) {
      const taken = piece.subarray(from, from + BLOCK_BYTES - length)
      room.set(taken, length)
      from += taken.length
      length += taken.length
      if (length < BLOCK_BYTES) continue
      yield room
      ;[room, other] = [other, room]
      length = 0
    }
  if (length > 0) yield room.subarray(0, length)
}
