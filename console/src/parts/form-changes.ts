/** Finds the changes of a user in a form, stores them as a draft, and restores them. */
import type { Draft } from '../session/drafts.ts'
import type { ComboboxOption } from './combobox.tsx'
import { type Control, controlsOf } from './form-faults.ts'

/** The event that restores the option of a combobox. */
export const RESTORE_EVENT = 'restore-draft'

/** True if the user has changed a field of a form, including secret fields. */
export const isFormChanged = (form: HTMLFormElement): boolean => controlsOf(form).some(isChanged)

/** Returns the user's changes in a form, without secrets. Returns undefined if nothing was changed. */
export function draftOf(form: HTMLFormElement): Draft | undefined {
  const changed = namedControls(form).filter(([, control]) => isKept(control) && isChanged(control))
  if (changed.length === 0) return undefined
  return Object.fromEntries(changed.map(([name, control]) => [name, write(control)]))
}

/** Puts a draft back into a form. */
export function restoreDraft(form: HTMLFormElement, draft: Draft): void {
  for (const [name, control] of namedControls(form)) {
    const text = draft[name]
    if (text !== undefined && isKept(control)) restore(control, text)
  }
}

/** Returns the controls by unique names. The checkboxes of a group have the same name when they are sent. */
function namedControls(form: HTMLFormElement): (readonly [string, Control])[] {
  const counts = new Map<string, number>()
  return controlsOf(form).map((control) => {
    const count = counts.get(control.name) ?? 0
    counts.set(control.name, count + 1)
    return [count === 0 ? control.name : `${control.name} ${count}`, control] as const
  })
}

const isBox = (control: Control): control is HTMLInputElement =>
  control.type === 'checkbox' || control.type === 'radio'

const isKept = (control: Control): boolean =>
  !('secret' in control.dataset) && control.type !== 'password' && control.type !== 'file'

function isChanged(control: Control): boolean {
  if (control instanceof HTMLSelectElement)
    return [...control.options].some((option) => option.selected !== option.defaultSelected)
  if (isBox(control)) return control.checked !== control.defaultChecked
  if (control.type !== 'hidden') return control.value !== control.defaultValue
  const { initial } = control.dataset
  return initial !== undefined && control.value !== initial
}

function write(control: Control): string {
  if (isBox(control)) return control.checked ? 'on' : ''
  if (control.type !== 'hidden') return control.value
  const option: ComboboxOption = { value: control.value, label: control.dataset.label ?? '' }
  return JSON.stringify(option)
}

function restore(control: Control, text: string): void {
  if (isBox(control)) {
    // Only the selected radio button is set, because setting it deselects the others.
    const isWanted = text === 'on'
    if (control.checked !== isWanted && (isWanted || control.type === 'checkbox')) control.click()
  } else if (control.type === 'hidden') {
    const option: ComboboxOption = JSON.parse(text)
    const detail = option.value === '' ? undefined : option
    control.dispatchEvent(new CustomEvent(RESTORE_EVENT, { detail }))
  } else {
    setValue(control, text)
    const event = control instanceof HTMLSelectElement ? 'change' : 'input'
    control.dispatchEvent(new Event(event, { bubbles: true }))
  }
}

/** Sets the value directly and then dispatches an event, which React handles like input from the user. */
function setValue(control: HTMLElement, value: string): void {
  const property = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(control), 'value')
  property?.set?.call(control, value)
}
