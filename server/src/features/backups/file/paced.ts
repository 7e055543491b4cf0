/** Throttles work on a stream while requests are using the database. */

/** Waits while requests are using the database. */
export type Rest = () => Promise<unknown>

/** Passes pieces through, and pauses after each while requests use the database. The source pauses too. */
export async function* resting(
  source: AsyncIterable<Uint8Array>,
  rest?: Rest,
): AsyncGenerator<Uint8Array> {
  for await (const piece of source) {
    yield piece
    await rest?.()
  }
}
