import type { ReactNode } from 'react'

interface ListOptionProps {
  readonly id: string
  readonly isActive: boolean
  readonly isSelected: boolean
  readonly children: ReactNode
  readonly onChoose?: () => void
}

/** An option of a list. The input keeps the focus and refers to the active option. */
export function ListOption({ id, isActive, isSelected, children, onChoose }: ListOptionProps) {
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the input of the list has the focus
    <div
      id={id}
      role="option"
      aria-selected={isSelected}
      aria-disabled={onChoose ? undefined : true}
      data-active={isActive ? '' : undefined}
      className={onChoose ? 'option' : 'option muted'}
      onMouseDown={(event) => {
        // Keeps the focus in the input.
        event.preventDefault()
        onChoose?.()
      }}
    >
      {children}
    </div>
  )
}
