import { type KeyboardEvent, type ReactNode, useId, useRef } from 'react'
import { Icon } from './icon.tsx'
import type { IconName } from './icons.ts'
import { moveFocus } from './move-focus.ts'
import './popup.css'

/** One choice of a menu. With `checked` it is one of several that exclude each other. */
export interface MenuItem {
  readonly label: string
  readonly onSelect: () => void
  readonly icon?: IconName
  readonly checked?: boolean
}

interface MenuProps {
  readonly children: ReactNode
  readonly items: readonly MenuItem[]
  /** Names the button when its content does not. */
  readonly label?: string
  readonly className?: string
}

/** A button that opens a menu, by the menu button pattern of the ARIA Authoring Practices. */
export function Menu({ children, items, label, className = '' }: MenuProps) {
  const id = useId()
  const popup = useRef<HTMLDivElement>(null)
  /** The item that takes the focus when the menu opens. */
  const first = useRef(0)
  const openByArrow = (event: KeyboardEvent<HTMLButtonElement>) => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
    event.preventDefault()
    first.current = event.key === 'ArrowUp' ? -1 : 0
    popup.current?.showPopover({ source: event.currentTarget })
  }
  return (
    <>
      <button
        type="button"
        className={className}
        popoverTarget={id}
        aria-haspopup="menu"
        aria-label={label}
        title={label}
        onKeyDown={openByArrow}
      >
        {children}
      </button>
      <div
        ref={popup}
        id={id}
        popover="auto"
        role="menu"
        aria-label={label}
        className="popup end"
        onToggle={(event) => {
          if (event.newState === 'open') itemsOf(event.currentTarget).at(first.current)?.focus()
          first.current = 0
        }}
        onKeyDown={(event) => {
          if (event.key === 'Tab') event.currentTarget.hidePopover()
          moveFocus(event, itemsOf(event.currentTarget), 'vertical')
        }}
      >
        {items.map((item) => (
          <MenuOption key={item.label} item={item} close={() => popup.current?.hidePopover()} />
        ))}
      </div>
    </>
  )
}

function MenuOption({ item, close }: { item: MenuItem; close: () => void }) {
  const select = () => {
    close()
    item.onSelect()
  }
  const content = (
    <>
      {item.icon && <Icon name={item.icon} />}
      {item.label}
    </>
  )
  if (item.checked === undefined)
    return (
      <button type="button" role="menuitem" tabIndex={-1} className="option" onClick={select}>
        {content}
      </button>
    )
  return (
    <button
      type="button"
      role="menuitemradio"
      aria-checked={item.checked}
      tabIndex={-1}
      className="option"
      onClick={select}
    >
      {content}
      {item.checked && (
        <span className="row end grow">
          <Icon name="check" />
        </span>
      )}
    </button>
  )
}

const itemsOf = (menu: HTMLElement | null): HTMLElement[] =>
  menu ? [...menu.querySelectorAll<HTMLElement>('[role^="menuitem"]')] : []
