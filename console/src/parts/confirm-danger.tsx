import { type FormEvent, type ReactNode, useId, useRef, useState } from 'react'
import { commonTexts } from '../words/common.texts.ts'
import { confirmTexts as texts } from './confirm.texts.ts'
import { Dialog, DialogActions } from './dialog.tsx'

interface ConfirmDangerProps {
  /** Verb and object, for example "Block Nora Pfleger". The button says the same. */
  readonly title: string
  /** The consequence in numbers, and the way back. */
  readonly children: ReactNode
  readonly onConfirm: () => void
  readonly onCancel: () => void
  /** The failure of the last attempt. */
  readonly error?: string | undefined
  readonly isBusy?: boolean
}

/** Asks before a dangerous change. The focus is on Cancel. */
export function ConfirmDanger(props: ConfirmDangerProps) {
  const cancel = useRef<HTMLButtonElement>(null)
  return (
    <Dialog title={props.title} alert onClose={props.onCancel} initialFocus={cancel}>
      {props.children}
      <ConfirmError text={props.error} />
      <DialogActions>
        <button type="button" ref={cancel} onClick={props.onCancel}>
          {commonTexts.cancel}
        </button>
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

/** The answers that a final confirmation collects besides the name. */
export interface FinalConfirmation {
  readonly password?: string
  readonly code?: string
}

interface ConfirmFinalProps extends Omit<ConfirmDangerProps, 'onConfirm'> {
  /** The name to type. */
  readonly name: string
  /** True when the session was not confirmed within 5 minutes. */
  readonly asksPassword: boolean
  readonly onConfirm: (confirmation: FinalConfirmation) => void
}

/** Asks before a change without a way back: the name is typed and, if needed, the password. */
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
    <Dialog title={props.title} alert onClose={props.onCancel}>
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
        <ConfirmError text={fault ?? props.error} />
        <DialogActions>
          <button type="button" onClick={props.onCancel}>
            {commonTexts.cancel}
          </button>
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

function ConfirmError({ text }: { text: string | undefined }) {
  return <div role="alert">{text && <p className="banner fault">{text}</p>}</div>
}
