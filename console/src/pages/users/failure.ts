/** Describes a failed change in one line, for messages and reports. */
import { formTexts } from '../../parts/form.texts.ts'
import { troubleOfError } from '../../parts/form-faults.ts'
import { AlreadyDecided } from './data.ts'

/** Returns why a change failed, when the user can try again, and the request id for support. */
export function reasonOf(error: unknown): string {
  if (error instanceof AlreadyDecided) return error.message
  const { message, requestId, waitUntil } = troubleOfError(error) ?? {}
  const seconds = waitUntil === undefined ? 0 : Math.ceil((waitUntil - Date.now()) / 1000)
  return [
    message ?? formTexts.failed,
    seconds > 0 && formTexts.tryAgainIn(seconds),
    requestId && formTexts.requestId(requestId),
  ]
    .filter(Boolean)
    .join(' ')
}
