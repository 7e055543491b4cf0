/** Calls at a fixed beat: the next one is due whether or not the last has been answered. */
import { setTimeout as delay } from 'node:timers/promises'
import { type Answers, count } from './answers.ts'

/** What the calls of a beat came to. */
export interface Beat {
  /** Of each call, from when it was due until it was answered or failed. */
  ms: number[]
  answers: Answers
}

/**
 * Calls every `everyMs` for `seconds`, and waits for what is then still under way. A call that waits
 * holds up none behind it, so that a silence of the service counts for every call that fell into it.
 * @param call answers with its status; what it throws counts as no answer
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
