/** Calls at a fixed rate: the next call starts even if the previous one is pending. */
import { setTimeout as delay } from 'node:timers/promises'
import { type Answers, count } from './answers.ts'

/** The results of the calls. */
export interface Beat {
  /** The time of each call from when it was due until its response or failure. */
  ms: number[]
  answers: Answers
}

/**
 * Calls every `everyMs` for `seconds`, then waits for the pending calls. A pending call does not delay the next ones,
 * so an outage of the service affects every call during the outage.
 * @param call returns the status; a thrown error counts as a missing response
 */
export async function atABeat(
  everyMs: number,
  seconds: number,
  call: (turn: number) => Promise<number>,
): Promise<Beat> {
  const beat: Beat = { ms: [], answers: {} }
  const one = async (turn: number, dueAt: number) => {
    const status = await call(turn).catch(() => 'none' as const)
    beat.ms.push(performance.now() - dueAt)
    count(beat.answers, status)
  }
  const start = performance.now()
  const running: Promise<void>[] = []
  for (let turn = 0; turn * everyMs < seconds * 1000; turn += 1) {
    const dueAt = start + turn * everyMs
    const early = dueAt - performance.now()
    if (early > 0) await delay(early)
    running.push(one(turn, dueAt))
  }
  await Promise.all(running)
  return beat
}
