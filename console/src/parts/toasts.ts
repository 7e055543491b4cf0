/** The messages at the bottom of the page. Each reports a change, and offers to undo it for 8 seconds. */

/** A message. `undo` reverses the change that it reports. */
export interface Toast {
  readonly id: number
  readonly text: string
  readonly undo?: () => void
}

const SHOWN_MS = 8_000

let toasts: readonly Toast[] = []
let lastId = 0
const listeners = new Set<() => void>()
const timers = new Map<number, ReturnType<typeof setTimeout>>()

/** Shows a message. Call this only after the server has confirmed the change. */
export function showToast(text: string, undo?: () => void): void {
  lastId += 1
  const toast = { id: lastId, text, ...(undo && { undo }) }
  setToasts([...toasts, toast])
  resumeToast(toast.id)
}

/** Removes a message. */
export function dismissToast(id: number): void {
  holdToast(id)
  setToasts(toasts.filter((toast) => toast.id !== id))
}

/** Removes all messages, including their undo buttons. */
export function clearToasts(): void {
  for (const { id } of toasts) dismissToast(id)
}

/** Keeps a message visible while the pointer or the focus is on it. */
export function holdToast(id: number): void {
  clearTimeout(timers.get(id))
  timers.delete(id)
}

/** Restarts the timer of a message. */
export function resumeToast(id: number): void {
  holdToast(id)
  timers.set(
    id,
    setTimeout(() => dismissToast(id), SHOWN_MS),
  )
}

/** Subscribes to changes of the list. Returns a function that unsubscribes. */
export function subscribeToToasts(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The messages that are shown now, oldest first. */
export const currentToasts = (): readonly Toast[] => toasts

function setToasts(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}
