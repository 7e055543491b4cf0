/** Long database work runs in batches, each in its own transaction, so that each locks little. */

/**
 * Runs `batch` until nothing is left to do.
 * @param batch does a part of the work; returns whether more may be left
 * @throws the signal's reason between two batches, so that an interrupted job is returned to the queue
 */
export async function inBatches(signal: AbortSignal, batch: () => Promise<boolean>): Promise<void> {
  do signal.throwIfAborted()
  while (await batch())
}
