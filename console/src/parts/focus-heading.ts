/** Moves the focus after the focused control has been removed. */
import { flushSync } from 'react-dom'

/** Moves the focus to the title of the page. */
export function focusHeading(): void {
  document.querySelector<HTMLElement>('main h1')?.focus()
}

/** Moves the focus to the title of the page if the focused control was removed. The page does not scroll. */
export function focusIfLost(): void {
  if (document.activeElement !== document.body) return
  document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true })
}

/** Closes a dialog, and then moves the focus. In the opposite order, the closing dialog would move the focus back. */
export function closeThenFocus(close: () => void, focus: () => void): void {
  flushSync(close)
  focus()
}
