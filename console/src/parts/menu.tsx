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
  const openByArrow = (event: KeyboardEvent<HTMLButtonElement>) => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
    event.preventDefault()
    popup.current?.showPopover({ source: event.currentTarget })
    if (event.key === 'ArrowUp') itemsOf(popup.current).at(-1)?.focus()
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
        onToggle={(event) => event.newState === 'open' && itemsOf(event.currentTarget)[0]?.focus()}
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
