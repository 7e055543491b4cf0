/** Runs long database work in batches. Each batch has its own transaction, so that it holds few locks. */

/**
 * @param batch returns whether more work may be left @throws the signal's reason, so that the job returns to the queue
 */
export async function inBatches(signal: AbortSignal, batch: () => Promise<boolean>): Promise<void> {
  do signal.throwIfAborted()
  while (await batch())
}
