/** A baseline: a process beside the service that does the same work with nothing around it. */
import { type ChildProcess, fork } from 'node:child_process'

export interface Baseline {
  pid: number
  /** Asks the baseline to do its work, and waits for what it answers. */
  ask<A>(question: unknown): Promise<A>
  stop(): void
}

/**
 * Starts a baseline; its program answers questions with `answer` of `answer.ts`.
 * @param settings variables beside those of this process
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
