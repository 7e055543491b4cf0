/** Work in pieces that gives way to others between two of them. */

/** Rests where others have something to do. */
export type Rest = () => Promise<unknown>

/** The same pieces. What makes them rests along, as nobody asks for the next. */
export async function* resting(
  source: AsyncIterable<Uint8Array>,
  rest?: Rest,
): AsyncGenerator<Uint8Array> {
  for await (const piece of source) {
    yield piece
    await rest?.()
  }
}
