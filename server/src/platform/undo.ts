/** Letting go of what a start has taken: the last first, at the stop as after a start that fails. */
import { canFail } from './observe/can-fail.ts'
import type { Logger } from './observe/log.ts'

/** Says how to let go of what has just been taken. */
export type OnClose = (what: string, close: () => unknown) => void

/** Has `undo` let go of things; what fails at it is logged, and keeps nothing else from its end. */
export function closerOf(undo: AsyncDisposableStack, log: Logger): OnClose {
  return (what, close) =>
    undo.defer(async () => void (await canFail(Promise.try(close), `closing ${what}`, log)))
}

/** Ends all side by side, begun in their order; none waits for another, nor fails it. */
export async function endTogether(ends: readonly (() => unknown)[], log: Logger): Promise<void> {
  await Promise.all(ends.map((end) => canFail(Promise.try(end), 'a stop', log)))
}
