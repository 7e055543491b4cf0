/**
 * Handles updates, each once, whether they were polled or sent to the webhook. An update that keeps failing does not
 * block the others.
 */
import { problemOf, type TenantTx } from '../../../platform/db/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { takeUpdate } from './bot.store.ts'
import type { Handle, Update } from './updates.ts'

/** The number of failures after which this process skips an update. */
const MAX_TRIES = 3
/** The maximum number of failed updates to remember. The oldest are forgotten first. */
const MAX_FAILING = 1000

/** Handles an update in the transaction, unless it was already handled. */
export type Take = (tx: TenantTx, botId: number, update: Update) => Promise<void>

export function updateTaker({ handle, log }: { handle: Handle; log: Logger }): Take {
  const failures = new Map<number, number>()

  function failed(update_id: number): void {
    failures.set(update_id, (failures.get(update_id) ?? 0) + 1)
    const [oldest] = failures.keys()
    if (failures.size > MAX_FAILING && oldest !== undefined) failures.delete(oldest)
  }

  return async (tx, bot_id, update) => {
    const { update_id } = update
    if (!(await takeUpdate(tx, { bot_id, update_id }))) return
    if ((failures.get(update_id) ?? 0) >= MAX_TRIES) {
      log.error({ update_id }, 'messenger update skipped after repeated failures')
      return
    }
    try {
      await handle(tx, update)
    } catch (error) {
      // A failure because of an unavailable or overloaded database does not count, because the update did not cause it.
      if (!problemOf(error)) failed(update_id)
      throw error
    }
  }
}
