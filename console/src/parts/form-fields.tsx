/** The fields of a form. Each has its label above, its hint below, and its fault beside it. */
import { type ComponentProps, type ReactNode, useState } from 'react'
import { formTexts } from './form.texts.ts'
import { fieldId, useForm } from './form-context.ts'

interface FieldProps {
  name: string
  label: string
  hint?: ReactNode
  /** The message for a required field that is empty. */
  missing?: string
  /** True if this field receives the focus when it appears. */
  focused?: boolean
}

type InputProps = FieldProps & Omit<ComponentProps<'input'>, 'name' | 'id' | 'children'>

/** A line of text. */
export function Field({ name, label, hint, missing, focused, ...input }: InputProps) {
  return (
    <Labelled name={name} label={label} hint={hint} isOptional={!input.required}>
      {(attributes) => (
        <input
          {...input}
          {...attributes}
          data-missing={missing ?? formTexts.missing(label)}
          ref={focused ? focusOnce : undefined}
        />
      )}
    </Labelled>
  )
}

/** A password field with a button that shows the password. */
export function PasswordField({ name, label, hint, missing, focused, ...input }: InputProps) {
  const [isShown, setShown] = useState(false)
  return (
    <Labelled name={name} label={label} hint={hint}>
      {(attributes) => (
        <span className="form-password">
          <input
            {...input}
            {...attributes}
            required
            type={isShown ? 'text' : 'password'}
            autoCapitalize="none"
            autoCorrect="off"
            spellCheck={false}
            data-secret=""
            data-missing={missing ?? formTexts.missing(label)}
            ref={focused ? focusOnce : undefined}
          />
          <button
            type="button"
            className="link"
            aria-label={isShown ? formTexts.hidePassword : formTexts.showPassword}
            aria-controls={attributes.id}
            onClick={() => setShown(!isShown)}
          >
            {isShown ? formTexts.hide : formTexts.show}
          </button>
        </span>
      )}
    </Labelled>
  )
}

type SelectProps = FieldProps & Omit<ComponentProps<'select'>, 'name' | 'id'>

/** A choice of a few values. */
export function SelectField({ name, label, hint, missing, focused, ...select }: SelectProps) {
  return (
    <Labelled name={name} label={label} hint={hint} isOptional={!select.required}>
      {(attributes) => (
        <select
          {...select}
          {...attributes}
          data-missing={missing ?? formTexts.missing(label)}
          ref={focused ? focusOnce : undefined}
        />
      )}
    </Labelled>
  )
}

interface ControlAttributes {
  id: string
  name: string
  'aria-invalid': true | undefined
  'aria-describedby': string | undefined
}

interface LabelledProps {
  name: string
  label: string
  hint: ReactNode
  isOptional?: boolean
  children: (attributes: ControlAttributes) => ReactNode
}

/** A control with its label, hint and fault. */
export function Labelled({ name, label, hint, isOptional = false, children }: LabelledProps) {
  const form = useForm()
  const id = fieldId(form.id, name)
  const fault = form.faultOf(name)
  const describedBy = [fault && `${id}-fault`, hint && `${id}-hint`].filter(Boolean).join(' ')
  return (
    <div className="form-field">
      <label htmlFor={id}>
        {label}
        {isOptional && <span className="form-optional"> ({formTexts.optional})</span>}
      </label>
      {children({
        id,
        name,
        'aria-invalid': fault === undefined ? undefined : true,
        'aria-describedby': describedBy || undefined,
      })}
      {fault !== undefined && (
        <p id={`${id}-fault`} className="form-fault">
          {fault}
        </p>
      )}
      {hint && (
        <p id={`${id}-hint`} className="form-hint">
          {hint}
        </p>
      )}
    </div>
  )
}

function focusOnce(control: HTMLElement | null): void {
  control?.focus()
}

type CheckProps = Omit<InputProps, 'hint' | 'focused'>

/** A checkbox with its label beside it. */
export function CheckField({ name, label, missing, ...input }: CheckProps) {
  const form = useForm()
  const id = fieldId(form.id, name)
  const fault = form.faultOf(name)
  return (
    <div className="form-field">
      <label className="check">
        <input
          {...input}
          type="checkbox"
          id={id}
          name={name}
          data-missing={missing ?? formTexts.missing(label)}
          aria-invalid={fault === undefined ? undefined : true}
          aria-describedby={fault === undefined ? undefined : `${id}-fault`}
        />
        {label}
      </label>
      {fault !== undefined && (
        <p id={`${id}-fault`} className="form-fault">
          {fault}
        </p>
      )}
    </div>
  )
}
