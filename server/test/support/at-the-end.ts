/** Closes what tests have opened, in reverse order. */
import { onTestFinished } from 'vitest'

type Close = () => unknown

const ofFile: Close[] = []

/** Closes what the file has left open; called at the end of each file by `each-file.ts`. */
export async function endFile(): Promise<void> {
  const errors: unknown[] = []
  for (let close = ofFile.pop(); close; close = ofFile.pop())
    try {
      await close()
    } catch (error) {
      errors.push(error)
    }
  if (errors.length > 0) throw new AggregateError(errors, 'closing what the file has opened')
}

/** Closes at the end of the file. */
export function atTheEndOfFile(close: Close): void {
  ofFile.push(close)
}

/** Closes at the end of the running test; outside of a test, as in `beforeAll`, at the end of the file. */
export function atTheEnd(close: Close): void {
  try {
    onTestFinished(async () => void (await close()))
  } catch {
    atTheEndOfFile(close)
  }
}
