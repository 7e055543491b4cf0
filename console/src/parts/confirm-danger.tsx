import { type FormEvent, type ReactNode, type Ref, useId, useRef, useState } from 'react'
import { commonTexts } from '../words/common.texts.ts'
import { confirmTexts as texts } from './confirm.texts.ts'
import { Dialog, DialogActions } from './dialog.tsx'
import { type FormTrouble, troubleOfError } from './form-faults.ts'
import { FormSummary } from './form-summary.tsx'

interface ConfirmDangerProps {
  /** The title: a verb and an object, such as "Block Nora Pfleger". The button has the same label. */
  readonly title: string
  /** The consequences in numbers, and how the user can undo the change. */
  readonly children: ReactNode
  readonly onConfirm: () => void
  readonly onCancel: () => void
  /** The failure of the last attempt, such as an `ApiError`. */
  readonly error?: unknown
  /** True while the change is being sent. The dialog stays open to show the result. */
  readonly isBusy?: boolean
}

/** Asks for confirmation before a dangerous change. Cancel has the focus. */
export function ConfirmDanger(props: ConfirmDangerProps) {
  const cancel = useRef<HTMLButtonElement>(null)
  return (
    <Dialog
      title={props.title}
      alert
      isBusy={props.isBusy}
      onClose={props.onCancel}
      initialFocus={cancel}
    >
      {props.children}
      <ConfirmTrouble trouble={troubleOfError(props.error)} />
      <DialogActions>
        <CancelButton ref={cancel} isBusy={props.isBusy} onCancel={props.onCancel} />
        <button
          type="button"
          className="danger solid"
          aria-disabled={props.isBusy}
          onClick={() => !props.isBusy && props.onConfirm()}
        >
          {props.title}
        </button>
      </DialogActions>
    </Dialog>
  )
}

/** The input of a final confirmation, except the typed name. */
export interface FinalConfirmation {
  readonly password?: string
  readonly code?: string
}

interface ConfirmFinalProps extends Omit<ConfirmDangerProps, 'onConfirm'> {
  /** The name that the user has to type. */
  readonly name: string
  /** True if the session was not confirmed within the last 5 minutes. */
  readonly asksPassword: boolean
  readonly onConfirm: (confirmation: FinalConfirmation) => void
}

/** Asks for confirmation before an irreversible change. The user types the name and, if required, the password. */
export function ConfirmFinal(props: ConfirmFinalProps) {
  const [fault, setFault] = useState<string>()
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (props.isBusy) return
    const fields = new FormData(event.currentTarget)
    const password = String(fields.get('password') ?? '')
    const code = String(fields.get('code') ?? '')
    const found = faultOf(String(fields.get('name')), props, password)
    setFault(found)
    if (found) return
    props.onConfirm({ ...(password && { password }), ...(code && { code }) })
  }
  return (
    <Dialog title={props.title} alert isBusy={props.isBusy} onClose={props.onCancel}>
      {props.children}
      <form className="stack confirm-fields" onSubmit={submit} noValidate>
        <ConfirmField name="name" label={texts.typeToConfirm(props.name)} />
        {props.asksPassword && (
          <>
            <ConfirmField
              name="password"
              label={texts.password}
              type="password"
              autoComplete="current-password"
            />
            <ConfirmField name="code" label={texts.code} autoComplete="one-time-code" />
          </>
        )}
        <ConfirmTrouble
          trouble={fault ? { faults: [], message: fault } : troubleOfError(props.error)}
        />
        <DialogActions>
          <CancelButton isBusy={props.isBusy} onCancel={props.onCancel} />
          <button type="submit" className="danger solid" aria-disabled={props.isBusy}>
            {props.title}
          </button>
        </DialogActions>
      </form>
    </Dialog>
  )
}

function faultOf(typed: string, props: ConfirmFinalProps, password: string): string | undefined {
  if (typed.trim() !== props.name) return texts.typeExactly(props.name)
  return props.asksPassword && !password ? texts.passwordMissing : undefined
}

interface ConfirmFieldProps {
  readonly name: string
  readonly label: string
  readonly type?: 'text' | 'password'
  readonly autoComplete?: 'current-password' | 'one-time-code' | 'off'
}

function ConfirmField({ name, label, type = 'text', autoComplete = 'off' }: ConfirmFieldProps) {
  const id = useId()
  return (
    <div className="stack confirm-field">
      <label htmlFor={id}>
        <b>{label}</b>
      </label>
      <input id={id} name={name} type={type} autoComplete={autoComplete} />
    </div>
  )
}

interface CancelButtonProps {
  readonly ref?: Ref<HTMLButtonElement>
  readonly isBusy: boolean | undefined
  readonly onCancel: () => void
}

function CancelButton({ ref, isBusy = false, onCancel }: CancelButtonProps) {
  return (
    <button type="button" ref={ref} aria-disabled={isBusy} onClick={() => !isBusy && onCancel()}>
      {commonTexts.cancel}
    </button>
  )
}

/** Explains why the last attempt failed, in the same way as forms do. */
function ConfirmTrouble({ trouble }: { trouble: FormTrouble | undefined }) {
  const form = useId()
  // The explanation takes the focus again after each failure.
  return trouble && <FormSummary key={trouble.message} form={form} trouble={trouble} />
}
