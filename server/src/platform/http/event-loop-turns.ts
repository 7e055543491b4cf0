/** Spreads work over several turns of the event loop, so that many pieces of work never block it. */

/** Runs `work` in a separate event-loop turn, after all work that was queued earlier. */
export type TakeTurns = (work: () => void) => void

/** Creates a queue that runs one piece of work per turn. @param wait calls back in a later turn, after due callbacks */
export function oneATurn(wait: (next: () => void) => unknown = setImmediate): TakeTurns {
  const waiting: (() => void)[] = []
  const next = () => {
    const work = waiting.shift()
    // Schedules the next piece first. The current piece may throw, and the remaining ones must still run.
    if (waiting.length > 0) wait(next)
    work?.()
  }
  return (work) => {
    waiting.push(work)
    if (waiting.length === 1) wait(next)
  }
}
