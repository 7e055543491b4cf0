/** Runs long database work in batches. Each batch has its own transaction, so that it holds few locks. */

/**
 * @param batch returns whether there may be more work @throws the signal's reason, which returns the job to the queue
 */
export async function inBatches(signal: AbortSignal, batch: () => Promise<boolean>): Promise<void> {
  do signal.throwIfAborted()
  while (await batch())
}
