/** A form that says what is wrong beside the field and on top, and sends once. */
import {
  type FormEvent,
  type ReactNode,
  useCallback,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react'
import { ApiError, retryDelayOf } from '../api/problem.ts'
import { drafts, session } from '../session/index.ts'
import { formTexts } from './form.texts.ts'
import { FormContext } from './form-context.ts'
import { DraftOffer, draftOf } from './form-draft.tsx'
import {
  controlsOf,
  type FieldFault,
  type FormTrouble,
  findFaults,
  troubleOf,
} from './form-faults.ts'
import { FormSummary } from './form-summary.tsx'
import './form.css'

/** Reads the value of a field; empty for a field that the form does not have. */
export type ReadField = (name: string) => string

interface FormProps {
  /** Sends the form. A rejection with an `ApiError` is shown; the form stays as it is. */
  onSubmit: (read: ReadField) => Promise<unknown>
  submit: string
  /** The label of the button while the form is being sent. */
  busy: string
  /** Returns the words for refusals that the page knows more about, and the field they concern. */
  explain?: (error: ApiError) => Partial<FormTrouble> | false | undefined
  /** Names the form for drafts: what was typed is offered again after a sign-out for inactivity. */
  draft?: string
  children: ReactNode
  /** Stands below the button. */
  footer?: ReactNode
}

const NO_TROUBLE: FormTrouble = { faults: [] }

/** A form with its fields as children. */
export function Form({ onSubmit, submit, busy, explain, draft, children, footer }: FormProps) {
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
      <form id={id} className="form" noValidate onSubmit={handleSubmit} ref={useDraft(draft)}>
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

/** Replaces what the page explains better. A refusal that a person can act on needs no request id. */
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
 * Sends a form again for as long as the service is unavailable and the form is on the page. Returns the faults that
 * keep it from being sent.
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

/** Returns a ref that keeps the draft when the session ends while the form is on the page. */
function useDraft(draft: string | undefined) {
  return useCallback(
    (form: HTMLFormElement) => () => {
      if (draft === undefined || session.state().status === 'signed-in') return
      const typed = draftOf(form)
      if (typed) drafts.keep(draft, typed)
    },
    [draft],
  )
}
