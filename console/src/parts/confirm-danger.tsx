import { type ReactNode, useRef } from 'react'
import { CancelButton, ConfirmTrouble } from './confirm-parts.tsx'
import { Dialog, DialogActions } from './dialog.tsx'
import { troubleOfError } from './form-faults.ts'

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
