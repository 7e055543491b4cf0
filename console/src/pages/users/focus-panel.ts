/** Moves the focus to the title of the panel, after the focused control has been removed. */
export function focusPanel(): void {
  document.querySelector<HTMLElement>('.panel h2')?.focus()
}
