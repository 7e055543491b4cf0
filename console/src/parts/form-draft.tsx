/** Offers to restore input that the user typed in a form before a sign-out. */
import { useState } from 'react'
import type { Draft } from '../session/drafts.ts'
import { drafts } from '../session/index.ts'
import { formTexts } from './form.texts.ts'
import { restoreDraft } from './form-changes.ts'

/** Shows the offer, if there is a draft for the form. */
export function DraftOffer({ name, form }: { name: string; form: string }) {
  const [draft, setDraft] = useState(() => drafts.offered(name))
  if (!draft) return null
  const finish = (values: Draft | undefined) => {
    const element = document.getElementById(form)
    if (values && element instanceof HTMLFormElement) restoreDraft(element, values)
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
