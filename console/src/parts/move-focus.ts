import type { KeyboardEvent } from 'react'

const STEPS = {
  vertical: { ArrowDown: 1, ArrowUp: -1 },
  horizontal: { ArrowRight: 1, ArrowLeft: -1 },
} as const

/** Moves the focus among elements with the arrow keys, Home and End. Wraps around at both ends. */
export function moveFocus(
  event: KeyboardEvent,
  elements: readonly HTMLElement[],
  axis: keyof typeof STEPS,
): HTMLElement | undefined {
  const steps: Readonly<Record<string, number>> = STEPS[axis]
  const { activeElement } = document
  const at = activeElement instanceof HTMLElement ? elements.indexOf(activeElement) : -1
  const step = steps[event.key]
  const count = elements.length
  const next = nextIndex(event.key, step, at, count)
  const target = next === undefined ? undefined : elements[next]
  if (!target) return undefined
  event.preventDefault()
  target.focus()
  return target
}

function nextIndex(
  key: string,
  step: number | undefined,
  at: number,
  count: number,
): number | undefined {
  if (key === 'Home') return 0
  if (key === 'End') return count - 1
  return step === undefined ? undefined : (at + step + count) % count
}
