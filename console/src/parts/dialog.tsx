import { type ReactNode, type RefObject, useId, useRef } from 'react'
import { useModal } from './modal.ts'
import './dialog.css'

interface DialogProps {
  readonly title: string
  readonly children: ReactNode
  /** Called when the dialog closes, also by Escape. The owner then stops rendering it. */
  readonly onClose: () => void
  /** Interrupts the reader, for questions about danger. */
  readonly alert?: boolean
  /** Takes the focus when the dialog opens; by default the first control does. */
  readonly initialFocus?: RefObject<HTMLElement | null>
}

/** A modal dialog, open for as long as it is rendered. The browser returns the focus when it closes. */
export function Dialog({ title, children, onClose, alert = false, initialFocus }: DialogProps) {
  const titleId = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  useModal(dialog, initialFocus)
  return (
    <dialog
      ref={dialog}
      role={alert ? 'alertdialog' : undefined}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      // A page behind the dialog does not see its keys.
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
