import { asSentence, Problem } from '../../../lib/problems.ts'
import { StartupError } from '../../../lib/startup-error.ts'
import { UnreadableError } from '../../../platform/crypto/index.ts'
import { problemOf } from '../../../platform/db/index.ts'
import { UnreadableFile } from '../file/age.ts'
import { NoRoomError, NotStoredError, StoreError } from '../stores/store.ts'

/** Converts errors of backup operations to error messages for the operator. @throws StartupError with the message */
export async function inWords<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof UnreadableFile || error instanceof NotStoredError)
      throw new StartupError(`The backup is not usable: ${error.message}.`)
    if (error instanceof NoRoomError || error instanceof UnreadableError)
      throw new StartupError(`${error.message}.`)
    if (error instanceof StoreError)
      throw new StartupError(`The command did not complete: ${error.message}.`)
    const problem = error instanceof Problem ? error : problemOf(error)
    throw problem ? new StartupError(asSentence(problem)) : error
  }
}
