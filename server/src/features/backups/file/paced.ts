/** Throttles work on a stream while requests are using the database. */

/** Waits while requests are using the database. */
export type Rest = () => Promise<unknown>

/**
 * Passes the pieces of a source through, and pauses after each one while requests use the database. The source pauses
 * too, because it is read on demand.
 */
export async function* resting(
  source: AsyncIterable<Uint8Array>,
  rest?: Rest,
): AsyncGenerator<Uint8Array> {
  for await (const piece of source) {
    yield piece
    await rest?.()
  }
}
