/** Long work on the database goes in batches, each a transaction of its own, so that it locks little at a time. */

/**
 * Runs `batch` until it says that there is no more to do.
 * @param batch does some of the work; returns whether there may be more
 * @throws the signal's reason between two batches, so that a job at a stop is given back rather than done
 */
export async function inBatches(signal: AbortSignal, batch: () => Promise<boolean>): Promise<void> {
  do signal.throwIfAborted()
  while (await batch())
}
