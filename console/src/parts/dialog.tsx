import { type ReactNode, type RefObject, useId, useRef } from 'react'
import { useModal } from './modal.ts'
import './dialog.css'

interface DialogProps {
  readonly title: string
  readonly children: ReactNode
  /** Called when the dialog closes, including by Escape. The owner must then stop rendering the dialog. */
  readonly onClose: () => void
  /** True while the dialog cannot be closed. */
  readonly isBusy?: boolean | undefined
  /** True for a question about a dangerous change. Screen readers then interrupt the user. */
  readonly alert?: boolean
  /** The control that receives the focus when the dialog opens. By default the first control. */
  readonly initialFocus?: RefObject<HTMLElement | null>
}

/** A modal dialog. It is open while it is rendered. The browser restores the focus when it closes. */
export function Dialog(props: DialogProps) {
  const { title, children, onClose, isBusy = false, alert = false, initialFocus } = props
  const titleId = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  useModal(dialog, initialFocus)
  const close = () => {
    if (!isBusy) onClose()
  }
  return (
    <dialog
      ref={dialog}
      role={alert ? 'alertdialog' : undefined}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault()
        close()
      }}
      onClose={() => {
        // Browsers close a dialog at the second Escape, even if the page prevents it. Opens the dialog again, because
        // the owner decides when it closes.
        if (!dialog.current || dialog.current.open) return
        dialog.current.showModal()
        close()
      }}
      // Keeps keys that are pressed in the dialog from the page behind it.
      onKeyDown={(event) => event.stopPropagation()}
    >
      <h2 id={titleId}>{title}</h2>
      {children}
    </dialog>
  )
}

/** The row of buttons at the end of a dialog. */
export function DialogActions({ children }: { children: ReactNode }) {
  return <div className="dialog-actions">{children}</div>
}
