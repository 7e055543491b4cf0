/** Finds the faults of a form: before the form is sent, and in the error of the service. */
import { ApiError } from '../api/problem.ts'
import { formTexts } from './form.texts.ts'

/** A fault of one field. */
export interface FieldFault {
  field: string
  message: string
}

/** The reasons why a form could not be sent. */
export interface FormTrouble {
  /** A message about the whole form. */
  message?: string | undefined
  faults: readonly FieldFault[]
  requestId?: string | undefined
  /** The time of the next allowed attempt, in milliseconds since 1970. */
  waitUntil?: number | undefined
}

/** A named control of a form. */
export type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

/** Returns the named controls of a form. */
export function controlsOf(form: HTMLFormElement): Control[] {
  return [...form.elements].filter(
    (element): element is Control =>
      (element instanceof HTMLInputElement ||
        element instanceof HTMLSelectElement ||
        element instanceof HTMLTextAreaElement) &&
      element.name !== '',
  )
}

/** Returns the faults that the browser finds in the controls. */
export function findFaults(form: HTMLFormElement): FieldFault[] {
  return controlsOf(form)
    .filter((control) => !control.validity.valid)
    .map((control) => ({ field: control.name, message: describeFault(control) }))
}

function describeFault(control: Control): string {
  const { valueMissing, typeMismatch, tooShort, patternMismatch } = control.validity
  if (control.type === 'number' && 'max' in control && !valueMissing)
    return formTexts.outOfRange(control.min, control.max)
  if (valueMissing) return control.dataset.missing ?? formTexts.invalid
  if (typeMismatch) return formTexts.notAnEmail
  if (patternMismatch && control.title) return control.title
  if (tooShort && 'minLength' in control) return formTexts.tooShort(control.minLength)
  return formTexts.invalid
}

/**
 * Converts an error of the service to the faults of a form.
 * @param fields the names of the form's fields, in their order on the page
 */
export function troubleOf(error: ApiError, fields: ReadonlySet<string>): FormTrouble {
  if (error.status === 429)
    return { faults: [], message: formTexts.tooManyAttempts, ...waitOf(error) }
  if (error.isUnavailable) return { faults: [], message: formTexts.unavailable, ...waitOf(error) }
  if (error.isUnreachable) return { faults: [], message: formTexts.unreachable }
  const found = error.issues.map(({ loc, msg }) => ({
    field: loc.findLast((step) => fields.has(String(step)))?.toString(),
    message: sentence(msg),
  }))
  const order = [...fields]
  const faults = found
    .filter((fault): fault is FieldFault => fault.field !== undefined)
    .sort((a, b) => order.indexOf(a.field) - order.indexOf(b.field))
  const others = found.filter(({ field }) => field === undefined).map(({ message }) => message)
  return { faults, message: messageOf(error, others), requestId: error.requestId }
}

/** Converts the error of an action without a form to faults. Returns undefined for a successful action. */
export function troubleOfError(error: unknown): FormTrouble | undefined {
  if (error instanceof ApiError) return troubleOf(error, NO_FIELDS)
  return error ? { faults: [], message: formTexts.failed } : undefined
}

/** Explains in one paragraph why an action failed. For messages that cannot show a countdown. */
export function failureSentence(error: unknown): string {
  const { message = formTexts.failed, waitUntil, requestId } = troubleOfError(error) ?? {}
  const seconds = waitUntil === undefined ? 0 : Math.ceil((waitUntil - Date.now()) / 1000)
  return [
    message,
    ...(seconds > 0 ? [formTexts.tryAgainIn(seconds)] : []),
    ...(requestId ? [`${formTexts.requestId(requestId)}.`] : []),
  ].join(' ')
}

const NO_FIELDS: ReadonlySet<string> = new Set()

function messageOf(error: ApiError, others: readonly string[]): string | undefined {
  if (error.issues.length > 0) return others.length > 0 ? others.join(' ') : undefined
  return error.status >= 500 ? formTexts.failed : sentence(error.detail)
}

const waitOf = ({ retryAfter, receivedAt }: ApiError) =>
  retryAfter === undefined ? {} : { waitUntil: receivedAt + retryAfter * 1000 }

/** Returns the fault of a single field, with a message in place of the service's message. */
export const faultAt = (field: string, message: string): FormTrouble => ({
  message: undefined,
  faults: [{ field, message }],
})

/** Formats a message of the service as a sentence. */
function sentence(message: string): string {
  const text = message.replace(/^Value error, /, '')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`
}
