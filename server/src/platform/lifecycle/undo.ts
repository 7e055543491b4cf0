/** Releases the resources that startup acquired, in reverse order. Runs on shutdown, or when startup fails. */
import { canFail } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'

/** Registers a function that releases a resource. `what` names the resource in the log. */
export type OnClose = (what: string, close: () => unknown) => void

/** Registers release functions on `undo`. A release that fails is logged and does not prevent the others. */
export function closerOf(undo: AsyncDisposableStack, log: Logger): OnClose {
  return (what, close) =>
    undo.defer(async () => void (await canFail(Promise.try(close), `closing of ${what}`, log)))
}

/** Runs all shutdown steps concurrently, started in order. A slow or failing step does not affect the others. */
export async function endTogether(ends: readonly (() => unknown)[], log: Logger): Promise<void> {
  await Promise.all(ends.map((end) => canFail(Promise.try(end), 'a shutdown step', log)))
}
