/** What tests have opened is closed when they have ended. */
import { afterAll, onTestFinished } from 'vitest'

type Close = () => unknown

const ofFile: Close[] = []

// Made while the file is collected: a hook that a hook or a test makes is never run.
afterAll(async () => {
  for (const close of ofFile.reverse()) await close()
})

/** At the end of the file, the last that was opened first. */
export function atTheEndOfFile(close: Close): void {
  ofFile.push(close)
}

/** At the end of the test that is running; of the file where none is, as in `beforeAll`. */
export function atTheEnd(close: Close): void {
  try {
    onTestFinished(async () => void (await close()))
  } catch {
    atTheEndOfFile(close)
  }
}
