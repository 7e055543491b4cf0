/** Writes a file of any size: in large blocks, beside what makes them, and to the disk as it grows. */
import type { FileHandle } from 'node:fs/promises'

const BLOCK_BYTES = 1024 * 1024
/** So much at a time is brought to the disk: all at the end would be waited for. */
const SYNC_EVERY = 32 * BLOCK_BYTES

/**
 * Returns once every byte is durable. Throws what the source, the disk or `before` says, with nothing of it under way.
 * @param before told of each block's bytes before it is written
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

/** Work that goes on by itself: the next waits for the last, and throws what that threw. */
function oneAtATime() {
  let last = Promise.resolve()
  return {
    async next(work: () => Promise<void>): Promise<void> {
      await last
      last = work()
      // Heard by the next, or at the end.
      last.catch(() => undefined)
    },
    end: () => last,
  }
}

/** The bytes in blocks. They lie in two rooms by turns: one is good until the next but one is asked for. */
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
