/** Offers back what was typed in a form before a sign-out. */
import { useState } from 'react'
import { drafts } from '../session/index.ts'
import { formTexts } from './form.texts.ts'
import { controlsOf } from './form-faults.ts'

type Draft = Readonly<Record<string, string>>

/** Shows the offer, if there is a draft for the form. */
export function DraftOffer({ name, form }: { name: string; form: string }) {
  const [draft, setDraft] = useState(() => drafts.offered(name))
  if (!draft) return null
  const finish = (values: Draft | undefined) => {
    const element = document.getElementById(form)
    if (values && element instanceof HTMLFormElement) restore(element, values)
    drafts.drop(name)
    setDraft(undefined)
  }
  return (
    <div className="form-draft">
      <p>{formTexts.draftKept}</p>
      <button type="button" onClick={() => finish(draft)}>
        {formTexts.restoreDraft}
      </button>
      <button type="button" className="link" onClick={() => finish(undefined)}>
        {formTexts.discardDraft}
      </button>
    </div>
  )
}

/** Returns what a person changed in a form, without secrets. Undefined when there is nothing. */
export function draftOf(form: HTMLFormElement): Draft | undefined {
  const changed = controlsOf(form).filter((control) => isKept(control) && isChanged(control))
  if (changed.length === 0) return undefined
  return Object.fromEntries(changed.map(({ name, value }) => [name, value]))
}

const isKept = (control: HTMLElement): boolean =>
  !('secret' in control.dataset) &&
  !(
    control instanceof HTMLInputElement &&
    ['password', 'checkbox', 'radio', 'file'].includes(control.type)
  )

function isChanged(control: HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement): boolean {
  if (!(control instanceof HTMLSelectElement)) return control.value !== control.defaultValue
  return [...control.options].some((option) => option.selected !== option.defaultSelected)
}

function restore(form: HTMLFormElement, values: Draft): void {
  for (const control of controlsOf(form)) {
    const value = values[control.name]
    if (value === undefined || !isKept(control)) continue
    setValue(control, value)
    const event = control instanceof HTMLSelectElement ? 'change' : 'input'
    control.dispatchEvent(new Event(event, { bubbles: true }))
  }
}

/** Sets the value past React, which then takes the event for one of the person. */
function setValue(control: HTMLElement, value: string): void {
  const property = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(control), 'value')
  property?.set?.call(control, value)
}
