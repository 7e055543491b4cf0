/** A baseline: a separate process that does only the essential work of a scenario. */
import { type ChildProcess, fork } from 'node:child_process'

export interface Baseline {
  pid: number
  /** Sends a question to the baseline and waits for its answer. */
  ask<A>(question: unknown): Promise<A>
  stop(): void
}

/**
 * Starts a baseline. Its program answers questions with `answer` of `answer.ts`.
 * @param settings environment variables in addition to those of this process
 */
export function openBaseline(program: URL, settings: Record<string, string> = {}): Baseline {
  const child: ChildProcess = fork(program, { env: { ...process.env, ...settings } })
  return {
    pid: child.pid ?? Number.NaN,
    ask: <A>(question: unknown) =>
      new Promise<A>((resolve, reject) => {
        const died = (code: number | null) => reject(new Error(`the baseline ended with ${code}`))
        child.once('exit', died)
        child.once('message', (message) => {
          child.off('exit', died)
          resolve(message as A)
        })
        child.send(question as object)
      }),
    stop: () => void child.kill(),
  }
}
