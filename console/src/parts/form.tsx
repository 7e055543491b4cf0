/** A form that shows faults beside the fields and above the form, and cannot be sent twice at a time. */
import {
  type FormEvent,
  type ReactNode,
  type RefObject,
  useCallback,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react'
import { ApiError, retryDelayOf } from '../api/problem.ts'
import { drafts, session } from '../session/index.ts'
import { formTexts } from './form.texts.ts'
import { draftOf } from './form-changes.ts'
import { FormContext } from './form-context.ts'
import { DraftOffer } from './form-draft.tsx'
import {
  controlsOf,
  type FieldFault,
  type FormTrouble,
  findFaults,
  troubleOf,
} from './form-faults.ts'
import { FormSummary } from './form-summary.tsx'
import './form.css'

/** Reads the value of a field. Returns an empty string if the form has no such field. */
export type ReadField = (name: string) => string

interface FormProps {
  /** Sends the form. If it rejects with an `ApiError`, the form shows the error and keeps its input. */
  onSubmit: (read: ReadField) => Promise<unknown>
  submit: string
  /** The label of the button while the form is being sent. */
  busy: string
  /**
   * Returns the message for an error that the page can explain better than the service, and the field that it concerns.
   */
  explain?: (error: ApiError) => Partial<FormTrouble> | false | undefined
  /** The name of the form for drafts. After a sign-out for inactivity, the form offers to restore the user's input. */
  draft?: string
  children: ReactNode
  /** Content below the button. */
  footer?: ReactNode
  formRef?: RefObject<HTMLFormElement | null>
}

const NO_TROUBLE: FormTrouble = { faults: [] }

/** A form with its fields as children. */
export function Form({ onSubmit, submit, busy, explain, draft, ...props }: FormProps) {
  const { children, footer, formRef } = props
  const id = useId()
  const isSending = useRef(false)
  const [isBusy, setBusy] = useState(false)
  const [attempt, setAttempt] = useState(0)
  const [trouble, setTrouble] = useState(NO_TROUBLE)
  const context = useMemo(
    () => ({
      id,
      faultOf: (name: string) => trouble.faults.find(({ field }) => field === name)?.message,
    }),
    [id, trouble],
  )

  function fail(found: FormTrouble): void {
    setTrouble(found)
    setAttempt((count) => count + 1)
  }

  async function handleSubmit(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault()
    const form = event.currentTarget
    if (isSending.current) return
    if (isWaiting(trouble)) return fail(trouble)
    isSending.current = true
    setBusy(true)
    try {
      const faults = await sendPatiently(form, onSubmit)
      if (faults.length > 0) return fail({ faults })
      setTrouble(NO_TROUBLE)
      if (draft) drafts.drop(draft)
    } catch (error) {
      fail(troubleWith(form, error, explain))
    } finally {
      isSending.current = false
      setBusy(false)
    }
  }

  return (
    <FormContext value={context}>
      <form
        id={id}
        className="form"
        noValidate
        onSubmit={handleSubmit}
        ref={useDraft(draft, formRef)}
      >
        {isShown(trouble) && <FormSummary key={attempt} form={id} trouble={trouble} />}
        {draft && <DraftOffer name={draft} form={id} />}
        {children}
        <button type="submit" className="primary wide" aria-busy={isBusy}>
          {isBusy ? busy : submit}
        </button>
        {footer}
      </form>
    </FormContext>
  )
}

const isShown = ({ faults, message }: FormTrouble): boolean =>
  faults.length > 0 || message !== undefined

/**
 * Replaces the messages that the page can explain better. Omits the request id if users can resolve the error
 * themselves.
 */
const explainedTrouble = (
  trouble: FormTrouble,
  explanation: Partial<FormTrouble> | false | undefined,
): FormTrouble => (explanation ? { ...trouble, requestId: undefined, ...explanation } : trouble)

const isWaiting = ({ waitUntil }: FormTrouble): boolean =>
  waitUntil !== undefined && waitUntil > Date.now()

function troubleWith(
  form: HTMLFormElement,
  error: unknown,
  explain: FormProps['explain'],
): FormTrouble {
  if (!(error instanceof ApiError)) {
    reportError(error)
    return { faults: [], message: formTexts.failed }
  }
  const fields = new Set(controlsOf(form).map(({ name }) => name))
  return explainedTrouble(troubleOf(error, fields), explain?.(error))
}

/**
 * Sends a form. Retries while the service is unavailable and the form is shown. Returns the faults if the form could
 * not be sent.
 */
async function sendPatiently(
  form: HTMLFormElement,
  send: FormProps['onSubmit'],
): Promise<readonly FieldFault[]> {
  for (;;) {
    const faults = findFaults(form)
    if (faults.length > 0) return faults
    try {
      await send(readerOf(form))
      return []
    } catch (error) {
      if (!(error instanceof ApiError) || !error.isUnavailable || !form.isConnected) throw error
      await new Promise((resolve) => setTimeout(resolve, retryDelayOf(error) * 1000))
      if (!form.isConnected) throw error
    }
  }
}

function readerOf(form: HTMLFormElement): ReadField {
  const values = new FormData(form)
  return (name) => {
    const value = values.get(name)
    return typeof value === 'string' ? value : ''
  }
}

/** Returns a ref that stores a draft if the session ends while the form is shown. */
function useDraft(draft: string | undefined, formRef: FormProps['formRef']) {
  return useCallback(
    (form: HTMLFormElement) => {
      if (formRef) formRef.current = form
      return () => {
        if (formRef) formRef.current = null
        if (draft === undefined || session.state().status === 'signed-in') return
        const typed = draftOf(form)
        if (typed) drafts.keep(draft, typed)
      }
    },
    [draft, formRef],
  )
}
