/** Moves the focus after the focused control has been removed. */
import { useEffect } from 'react'
import { flushSync } from 'react-dom'

/** Moves the focus to the title of the page. */
export function focusHeading(): void {
  document.querySelector<HTMLElement>('main h1')?.focus()
}

/**
 * Moves the focus to the title of the open panel, or else of the page, if the focused control was removed. The page does
 * not scroll.
 */
export function focusIfLost(): void {
  if (document.activeElement !== document.body) return
  const [heading] = ['main .panel h2', 'main h1'].flatMap((place) => [
    ...document.querySelectorAll<HTMLElement>(place),
  ])
  heading?.focus({ preventScroll: true })
}

/** Moves the focus to a title if the control of this component is removed while it has the focus. */
export function useFocusAfterRemoval(): void {
  useEffect(() => focusIfLost, [])
}

/** Closes a dialog, and then moves the focus. In the opposite order, the closing dialog would move the focus back. */
export function closeThenFocus(close: () => void, focus: () => void): void {
  flushSync(close)
  focus()
}
