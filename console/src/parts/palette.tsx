import { type KeyboardEvent, useId, useRef, useState } from 'react'
import { Icon } from './icon.tsx'
import type { IconName } from './icons.ts'
import { ListOption } from './list-option.tsx'
import { useModal } from './modal.ts'
import { paletteTexts as texts } from './palette.texts.ts'
import './dialog.css'
import './palette.css'
import './popup.css'

/** One result of the palette. */
export interface PaletteItem {
  readonly id: string
  readonly label: string
  readonly hint?: string
  readonly icon: IconName
  readonly onChoose: () => void
}

/** Results of one kind. */
export interface PaletteGroup {
  readonly label: string
  readonly items: readonly PaletteItem[]
}

interface PaletteProps {
  /** The name of the dialog and the hint of the input, such as "Search people". */
  readonly label: string
  readonly groups: readonly PaletteGroup[]
  readonly isSearching: boolean
  /** Called with the text after each change. */
  readonly onSearch: (text: string) => void
  readonly onClose: () => void
}

/** The global search in a dialog. The input keeps the focus, and the arrow keys move among the results. */
export function Palette({ label, groups, isSearching, onSearch, onClose }: PaletteProps) {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const [wanted, setWanted] = useState(0)
  const items = groups.flatMap((group) => group.items)
  const active = Math.max(0, Math.min(wanted, items.length - 1))
  useModal(dialog)
  const choose = (item: PaletteItem | undefined) => {
    if (!item) return
    onClose()
    item.onChoose()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Enter') choose(items[active])
    else if (step && items.length) setWanted((active + step + items.length) % items.length)
    else return
    event.preventDefault()
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes the dialog, as a click beside it does
    <dialog
      ref={dialog}
      className="palette"
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => event.target === event.currentTarget && onClose()}
    >
      <input
        type="text"
        role="combobox"
        autoComplete="off"
        aria-label={label}
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={items[active] && `${id}-${items[active].id}`}
        placeholder={label}
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          onSearch(event.target.value.trim())
          setWanted(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div id={`${id}-list`} role="listbox" aria-label={texts.results}>
        {groups
          .filter((group) => group.items.length > 0)
          .map((group) => (
            <PaletteResults
              key={group.label}
              prefix={id}
              group={group}
              active={items[active]}
              onChoose={choose}
            />
          ))}
      </div>
      <p className="note muted" role="status" hidden={items.length > 0 && !isSearching}>
        {isSearching ? texts.searching : items.length === 0 && texts.nothingFound(text)}
      </p>
    </dialog>
  )
}

interface PaletteResultsProps {
  readonly prefix: string
  readonly group: PaletteGroup
  readonly active: PaletteItem | undefined
  readonly onChoose: (item: PaletteItem) => void
}

function PaletteResults({ prefix, group, active, onChoose }: PaletteResultsProps) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a listbox groups its options by role
    <div role="group" aria-label={group.label}>
      <div className="small muted" aria-hidden="true">
        {group.label}
      </div>
      {group.items.map((item) => (
        <ListOption
          key={item.id}
          id={`${prefix}-${item.id}`}
          isActive={item === active}
          isSelected={item === active}
          onChoose={() => onChoose(item)}
        >
          <Icon name={item.icon} />
          {item.label}
          {item.hint && <span className="muted ellipsis">{item.hint}</span>}
        </ListOption>
      ))}
    </div>
  )
}
