/** Runs long database work in batches. Each batch has its own transaction, so that it holds few locks. */

/**
 * Runs `batch` until all work is done.
 * @param batch does a part of the work, and returns whether there may be more
 * @throws the signal's reason between two batches. An interrupted job then returns to the queue.
 */
export async function inBatches(signal: AbortSignal, batch: () => Promise<boolean>): Promise<void> {
  do signal.throwIfAborted()
  while (await batch())
}
