import { type RefObject, useEffect, useRef } from 'react'

/**
 * Returns a ref for the button that a form replaces while the form is open. The button receives the focus when it
 * returns.
 */
export function useReturnFocus(isOpen: boolean): RefObject<HTMLButtonElement | null> {
  const button = useRef<HTMLButtonElement>(null)
  const wasOpen = useRef(false)
  useEffect(() => {
    if (wasOpen.current && !isOpen) button.current?.focus()
    wasOpen.current = isOpen
  }, [isOpen])
  return button
}
