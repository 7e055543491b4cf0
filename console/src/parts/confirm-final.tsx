import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { confirmSession } from '../api/confirm-session.ts'
import { isSessionConfirmed } from '../api/confirmation.ts'
import { ApiError } from '../api/problem.ts'
import { confirmTexts as texts } from './confirm.texts.ts'
import { CancelButton, ConfirmTrouble } from './confirm-parts.tsx'
import { Dialog, DialogActions } from './dialog.tsx'
import { type Asked, type ConfirmationInput, performFinalAct } from './final-act.ts'
import { type FormTrouble, troubleOfError } from './form-faults.ts'

interface ConfirmFinalProps<Result> {
  /** Verb and object, for example "Restore Demo Clinic". The button has the same label. */
  readonly title: string
  /** The consequence in numbers. */
  readonly children: ReactNode
  /** The name to type. Undefined if the act can be repeated, such as a download. */
  readonly name?: string
  /** False if the service performs the act without a confirmed session. */
  readonly needsPassword?: boolean
  /** Performs the act. A refusal with the code `reauth_required` makes the dialog ask for the password. */
  readonly act: () => Promise<Result>
  /** Called after the service performed the act, unless the dialog is gone. */
  readonly onDone: (result: Result) => void
  readonly onCancel: () => void
  /** Confirms the session. Only the gallery replaces it. */
  readonly confirm?: (input: ConfirmationInput) => Promise<unknown>
}

/** Asks before a final act. The person types the name, if any, and then the password, at most every five minutes. */
export function ConfirmFinal<Result>(props: ConfirmFinalProps<Result>) {
  const { title, children, name, onCancel } = props
  const { isBusy, asked, trouble, submit } = useFinalAct(props)
  return (
    <Dialog title={title} alert isBusy={isBusy} onClose={onCancel}>
      {children}
      <form className="stack confirm-fields" onSubmit={submit} noValidate>
        {name !== undefined && <ConfirmField name="name" label={texts.typeToConfirm(name)} />}
        {asked !== 'nothing' && (
          <ConfirmField
            name="password"
            label={texts.password}
            hint={texts.passwordHint}
            type="password"
            autoComplete="current-password"
            focused
          />
        )}
        {asked === 'code' && (
          <ConfirmField
            name="code"
            label={texts.code}
            hint={texts.codeHint}
            autoComplete="one-time-code"
            focused
          />
        )}
        <ConfirmTrouble trouble={trouble} />
        <DialogActions>
          <CancelButton isBusy={isBusy} onCancel={onCancel} />
          <button type="submit" className="danger solid" aria-disabled={isBusy}>
            {title}
          </button>
        </DialogActions>
      </form>
    </Dialog>
  )
}

/** Sends the act. Password and code stay in their fields, and are never part of the state. */
function useFinalAct<Result>(props: ConfirmFinalProps<Result>) {
  const { name, needsPassword = true, act, confirm = confirmSession, onDone } = props
  const isConfirmed = () => !needsPassword || isSessionConfirmed()
  const [isBusy, setBusy] = useState(false)
  const [asked, setAsked] = useState<Asked>('nothing')
  const [trouble, setTrouble] = useState<FormTrouble>()
  const isShown = useIsShown()

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (isBusy) return
    const form = event.currentTarget
    const input = { password: textOf(form, 'password'), code: textOf(form, 'code').trim() }
    const fault = faultOf(textOf(form, 'name'), name, asked, input)
    setTrouble(fault === undefined ? undefined : { faults: [], message: fault })
    if (fault !== undefined) return
    setBusy(true)
    const outcome = await performFinalAct({ act, isConfirmed, confirm }, asked, input)
    if (!isShown.current) return
    setBusy(false)
    if (outcome.status === 'done') return onDone(outcome.result)
    setAsked(outcome.asked)
    if (outcome.status === 'asking') return
    setTrouble(troubleOfError(outcome.error))
    clearRefused(form, outcome.error)
  }
  return {
    isBusy,
    asked,
    trouble,
    submit: (event: FormEvent<HTMLFormElement>) => void submit(event),
  }
}

/** Returns a reference that is true while the component is shown. */
function useIsShown() {
  const isShown = useRef(true)
  useEffect(() => {
    isShown.current = true
    return () => {
      isShown.current = false
    }
  }, [])
  return isShown
}

const fieldOf = (form: HTMLFormElement, name: string) => {
  const field = form.elements.namedItem(name)
  return field instanceof HTMLInputElement ? field : undefined
}

const textOf = (form: HTMLFormElement, name: string): string => fieldOf(form, name)?.value ?? ''

const REFUSED_FIELDS: Readonly<Record<string, string>> = {
  wrong_password: 'password',
  wrong_code: 'code',
}

/** Empties the field that the service refused. */
function clearRefused(form: HTMLFormElement, error: unknown): void {
  const code = error instanceof ApiError ? error.code : undefined
  const field = fieldOf(form, REFUSED_FIELDS[code ?? ''] ?? '')
  if (field) field.value = ''
}

function faultOf(
  typed: string,
  name: string | undefined,
  asked: Asked,
  { password, code }: ConfirmationInput,
): string | undefined {
  if (name !== undefined && typed.trim() !== name) return texts.typeExactly(name)
  if (asked !== 'nothing' && !password) return texts.passwordMissing
  return asked === 'code' && !code ? texts.codeMissing : undefined
}

interface ConfirmFieldProps {
  readonly name: string
  readonly label: string
  readonly hint?: string
  readonly type?: 'text' | 'password'
  readonly autoComplete?: 'current-password' | 'one-time-code' | 'off'
  /** Moves the focus to this field when it appears. */
  readonly focused?: boolean
}

function ConfirmField(props: ConfirmFieldProps) {
  const { name, label, hint, type = 'text', autoComplete = 'off', focused = false } = props
  const id = useId()
  return (
    <div className="stack confirm-field">
      <label htmlFor={id}>
        <b>{label}</b>
      </label>
      <input
        id={id}
        name={name}
        type={type}
        autoComplete={autoComplete}
        aria-describedby={hint && `${id}-hint`}
        spellCheck={false}
        ref={focused ? takeFocus : undefined}
      />
      {hint && (
        <p className="muted" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}

function takeFocus(field: HTMLInputElement | null): void {
  field?.focus()
}
