/** Runs a transform stream as one step in a chain of generators. */
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/**
 * Yields the output of the transform. Throws errors of the source and the transform, and closes both if the caller
 * stops early.
 * @param after called with each piece when the caller requests the next one
 */
export async function* through(
  source: AsyncIterable<Uint8Array>,
  transform: Duplex,
  after: (piece: Buffer) => void = () => undefined,
): AsyncGenerator<Buffer> {
  const done = pipeline(source, transform)
  // Prevents an unhandled rejection if the caller stops early. In other cases the promise is awaited at the end.
  done.catch(() => undefined)
  for await (const piece of transform as AsyncIterable<Buffer>) {
    yield piece
    after(piece)
  }
  await done
}
