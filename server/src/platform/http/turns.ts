/** Takes pieces of work by turns of the event loop, so that many at once never hold it together. */

/** Runs `work` in a turn of its own, behind what came before. */
export type TakeTurns = (work: () => void) => void

/** @param wait calls back in a later turn of the event loop; what is due then goes first */
export function oneATurn(wait: (next: () => void) => unknown = setImmediate): TakeTurns {
  const waiting: (() => void)[] = []
  const next = () => {
    const work = waiting.shift()
    // Before the work, which may throw: the others still get their turn.
    if (waiting.length > 0) wait(next)
    work?.()
  }
  return (work) => {
    waiting.push(work)
    if (waiting.length === 1) wait(next)
  }
}
