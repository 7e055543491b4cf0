/** Parts that the dialogs before dangerous changes share. */
import { type Ref, useId } from 'react'
import { commonTexts } from '../words/common.texts.ts'
import type { FormTrouble } from './form-faults.ts'
import { FormSummary } from './form-summary.tsx'

interface CancelButtonProps {
  readonly ref?: Ref<HTMLButtonElement>
  readonly isBusy: boolean | undefined
  readonly onCancel: () => void
}

export function CancelButton({ ref, isBusy = false, onCancel }: CancelButtonProps) {
  return (
    <button type="button" ref={ref} aria-disabled={isBusy} onClick={() => !isBusy && onCancel()}>
      {commonTexts.cancel}
    </button>
  )
}

/** Explains why the last attempt failed, as forms do. */
export function ConfirmTrouble({ trouble }: { trouble: FormTrouble | undefined }) {
  const form = useId()
  // The explanation takes the focus again after each failure.
  return trouble && <FormSummary key={trouble.message} form={form} trouble={trouble} />
}
