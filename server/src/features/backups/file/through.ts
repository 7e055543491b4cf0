/** A transform stream as one step of a chain of generators. */
import { type Duplex, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** Yields what the transform makes of the source. Throws what either throws; ends both when it is left early. */
export async function* through(
  source: AsyncIterable<Uint8Array>,
  transform: Duplex,
): AsyncGenerator<Buffer> {
  const done = pipeline(Readable.from(source, { objectMode: false }), transform)
  // Heard below, or by whoever left early.
  done.catch(() => undefined)
  yield* transform as AsyncIterable<Buffer>
  await done
}
