/** Takes updates, however they come: each once, and none that keeps failing keeps the others. */
import { problemOf, type TenantTx } from '../../../platform/db/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { takeUpdate } from './bot.store.ts'
import type { Handle, Update } from './updates.ts'

/** An update that this process has failed to handle so often is left out. */
const MAX_TRIES = 3
/** Updates whose failures are remembered, the latest. */
const MAX_FAILING = 1000

/** Takes the update in the transaction, unless it was taken before, with what it does. */
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
      log.error({ update_id }, 'an update of the messenger is left out: it fails')
      return
    }
    try {
      await handle(tx, update)
    } catch (error) {
      // A database that is away, or too busy, is no fault of the update's.
      if (!problemOf(error)) failed(update_id)
      throw error
    }
  }
}
