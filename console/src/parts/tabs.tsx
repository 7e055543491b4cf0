import { type ReactNode, useId } from 'react'
import { moveFocus } from './move-focus.ts'
import './tabs.css'

/** One tab: its id, which the URL may contain, its label, and its content. */
export interface Tab {
  readonly id: string
  readonly label: string
  readonly content: ReactNode
}

interface TabsProps {
  /** The accessible name of the list of tabs. */
  readonly label: string
  readonly tabs: readonly Tab[]
  readonly selected: string
  readonly onSelect: (id: string) => void
}

/** Tabs that are selected when they receive the focus. Follows the tabs pattern of the ARIA Authoring Practices. */
export function Tabs({ label, tabs, selected, onSelect }: TabsProps) {
  const prefix = useId()
  const current = tabs.find((tab) => tab.id === selected) ?? tabs[0]
  if (!current) return null
  return (
    <>
      <div
        role="tablist"
        aria-label={label}
        className="tabs"
        onKeyDown={(event) => {
          const list = [...event.currentTarget.querySelectorAll<HTMLElement>('[role="tab"]')]
          moveFocus(event, list, 'horizontal')?.click()
        }}
      >
        {tabs.map((tab) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`${prefix}-tab-${tab.id}`}
            aria-selected={tab === current}
            aria-controls={tab === current ? `${prefix}-panel` : undefined}
            tabIndex={tab === current ? 0 : -1}
            onClick={() => onSelect(tab.id)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div
        role="tabpanel"
        id={`${prefix}-panel`}
        aria-labelledby={`${prefix}-tab-${current.id}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the pattern asks for it, so that a panel of text can be reached
        tabIndex={0}
        className="tab-panel"
      >
        {current.content}
      </div>
    </>
  )
}
