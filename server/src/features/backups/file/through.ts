/** A transform stream as one step of a chain of generators. */
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/**
 * Yields what the transform makes of the source. Throws what either throws; ends both when it is left early.
 * @param after told of each piece once the next is asked for
 */
export async function* through(
  source: AsyncIterable<Uint8Array>,
  transform: Duplex,
  after: (piece: Buffer) => void = () => undefined,
): AsyncGenerator<Buffer> {
  const done = pipeline(source, transform)
  // Heard below, or by whoever left early.
  done.catch(() => undefined)
  for await (const piece of transform as AsyncIterable<Buffer>) {
    yield piece
    after(piece)
  }
  await done
}
