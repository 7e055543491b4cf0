import { type RefObject, useEffect } from 'react'

/** Opens a dialog for as long as it is rendered, and returns the focus when it closes. */
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
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [dialog, initialFocus])
}
