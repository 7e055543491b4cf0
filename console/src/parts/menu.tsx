import { type KeyboardEvent, type ReactNode, useId, useRef } from 'react'
import { Icon } from './icon.tsx'
import type { IconName } from './icons.ts'
import { moveFocus } from './move-focus.ts'
import './popup.css'

/** One item of a menu. Items with `checked` are exclusive choices. */
export interface MenuItem {
  readonly label: string
  readonly onSelect: () => void
  readonly icon?: IconName
  readonly checked?: boolean
}

interface MenuProps {
  readonly children: ReactNode
  readonly items: readonly MenuItem[]
  /** The label of the button if its content has no text. */
  readonly label?: string
  readonly className?: string
}

/** A button that opens a menu. Follows the menu button pattern of the ARIA Authoring Practices. */
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
        onKeyDown={(event) => {
          if (event.key === 'Tab') event.currentTarget.hidePopover()
          moveFocus(event, itemsOf(event.currentTarget), 'vertical')
        }}
      >
        {items.map((item, index) => (
          <MenuOption
            key={item.label}
            item={item}
            isFirst={index === 0}
            close={() => popup.current?.hidePopover()}
          />
        ))}
      </div>
    </>
  )
}

interface MenuOptionProps {
  readonly item: MenuItem
  /** The first item receives the focus when the menu opens, so that every key press reaches the menu. */
  readonly isFirst: boolean
  readonly close: () => void
}

function MenuOption({ item, isFirst, close }: MenuOptionProps) {
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
  const ref = isFirst ? markAutofocus : undefined
  if (item.checked === undefined)
    return (
      <button
        ref={ref}
        type="button"
        role="menuitem"
        tabIndex={-1}
        className="option"
        onClick={select}
      >
        {content}
      </button>
    )
  return (
    <button
      ref={ref}
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

/**
 * Sets the `autofocus` attribute, which the browser reads when it opens a popover. React's `autoFocus` does not set the
 * attribute.
 */
const markAutofocus = (item: HTMLElement | null) => item?.setAttribute('autofocus', '')

const itemsOf = (menu: HTMLElement | null): HTMLElement[] =>
  menu ? [...menu.querySelectorAll<HTMLElement>('[role^="menuitem"]')] : []
