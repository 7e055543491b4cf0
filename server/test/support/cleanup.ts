/** Closes everything that a test or a file has opened, in reverse order. */
import { onTestFinished } from 'vitest'

type Close = () => unknown

const ofFile: Close[] = []

/** Closes everything that the test file has opened. `each-file.ts` calls this function at the end of each file. */
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

/** Registers a cleanup for the end of the file. */
export function atTheEndOfFile(close: Close): void {
  ofFile.push(close)
}

/**
 * Registers a cleanup for the end of the running test. Outside of a test, such as in `beforeAll`, the cleanup runs at
 * the end of the file.
 */
export function atTheEnd(close: Close): void {
  try {
    onTestFinished(async () => void (await close()))
  } catch {
    atTheEndOfFile(close)
  }
}
