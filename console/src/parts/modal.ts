import { type RefObject, useEffect } from 'react'
import { focusIfLost } from './focus-heading.ts'

/** Opens a dialog while it is rendered, and restores the focus when it closes. */
export function useModal(
  dialog: RefObject<HTMLDialogElement | null>,
  initialFocus?: RefObject<HTMLElement | null>,
): void {
  useEffect(() => {
    const element = dialog.current
    const opener = document.activeElement
    element?.showModal()
    initialFocus?.current?.focus()
    return () => {
      element?.close()
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus()
      else focusIfLost()
    }
  }, [dialog, initialFocus])
}
