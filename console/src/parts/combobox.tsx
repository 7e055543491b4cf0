import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { comboboxTexts } from './combobox.texts.ts'
import { Icon } from './icon.tsx'
import { ListOption } from './list-option.tsx'
import './popup.css'

/** One choice of a combobox. */
export interface ComboboxOption {
  readonly value: string
  readonly label: string
}

/** The attributes that a form sets on its control. */
export interface ComboboxAttributes {
  readonly id?: string
  readonly 'aria-invalid'?: true | undefined
  readonly 'aria-describedby'?: string | undefined
}

interface ComboboxProps extends ComboboxAttributes {
  readonly label: string
  readonly options: readonly ComboboxOption[]
  readonly value: string
  readonly onChange: (value: string) => void
  /** Called while the user types, to load options. If absent, the given options are filtered. */
  readonly onSearch?: (text: string) => void
  /** Called when the field receives the focus, to load the first options. */
  readonly onFocus?: () => void
  readonly placeholder?: string
  /** The label of a value that is not among the options, for example after a search. */
  readonly valueLabel?: string
  /** The text of an empty list. */
  readonly message?: string
}

/** A searchable choice among many options. Follows the combobox pattern of the ARIA Authoring Practices. */
export function Combobox(props: ComboboxProps) {
  const ownId = useId()
  const id = props.id ?? ownId
  const list = useRef<HTMLDivElement>(null)
  const state = useCombobox(props)
  useListPopover(list, id, state.open, state.active)
  const chosen = props.options.find(({ value }) => value === props.value)?.label
  return (
    <span className="combobox">
      <input
        id={id}
        role="combobox"
        autoComplete="off"
        aria-label={props.label}
        aria-invalid={props['aria-invalid']}
        aria-describedby={props['aria-describedby']}
        aria-expanded={state.open}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={state.open ? `${id}-${state.active}` : undefined}
        placeholder={props.placeholder}
        value={state.text ?? chosen ?? props.valueLabel ?? ''}
        onFocus={props.onFocus}
        onClick={(event) => {
          // Selects the text, so that typing replaces the chosen value.
          event.currentTarget.select()
          state.show()
        }}
        onChange={(event) => state.search(event.target.value)}
        onBlur={state.close}
        onKeyDown={state.onKeyDown}
      />
      <Icon name="down" />
      <div
        ref={list}
        id={`${id}-list`}
        role="listbox"
        aria-label={props.label}
        popover="manual"
        className="popup"
      >
        {state.shown.map((option, index) => (
          <ListOption
            key={option.value}
            id={`${id}-${index}`}
            isActive={index === state.active}
            isSelected={option.value === props.value}
            onChoose={() => state.choose(index)}
          >
            {option.label}
          </ListOption>
        ))}
        {state.shown.length === 0 && (
          <ListOption id={`${id}-0`} isActive={false} isSelected={false}>
            {props.message ?? comboboxTexts.nothingFound}
          </ListOption>
        )}
      </div>
    </span>
  )
}

function useCombobox({ options, value, onChange, onSearch }: ComboboxProps) {
  const [text, setText] = useState<string>()
  const [open, setOpen] = useState(false)
  const [wanted, setWanted] = useState(0)
  const shown = onSearch ? options : filterOptions(options, text)
  const active = Math.max(0, Math.min(wanted, shown.length - 1))
  const close = () => {
    setOpen(false)
    setText(undefined)
    // Clears the search, so that all options are shown when the list opens again.
    if (text) onSearch?.('')
  }
  const show = () => {
    setWanted(
      Math.max(
        0,
        shown.findIndex((option) => option.value === value),
      ),
    )
    setOpen(true)
  }
  const search = (typed: string) => {
    setText(typed)
    setWanted(0)
    setOpen(true)
    onSearch?.(typed)
  }
  const choose = (index: number) => {
    const option = shown[index]
    if (option) onChange(option.value)
    close()
  }
  const keys: Readonly<Record<string, () => unknown>> = {
    ArrowDown: () => (open ? setWanted(Math.min(active + 1, shown.length - 1)) : show()),
    ArrowUp: () => (open ? setWanted(Math.max(active - 1, 0)) : show()),
    ...(open && { Enter: () => shown[active] && choose(active), Escape: close }),
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const act = keys[event.key]
    if (!act) return
    event.preventDefault()
    event.stopPropagation()
    act()
  }
  return { text, open, active, shown, show, close, search, choose, onKeyDown }
}

function filterOptions(
  options: readonly ComboboxOption[],
  text: string | undefined,
): readonly ComboboxOption[] {
  const wanted = text?.trim().toLocaleLowerCase()
  if (!wanted) return options
  return options.filter(({ label }) => label.toLocaleLowerCase().includes(wanted))
}

function useListPopover(
  list: { readonly current: HTMLDivElement | null },
  inputId: string,
  open: boolean,
  active: number,
): void {
  useEffect(() => {
    const source = document.getElementById(inputId)
    if (open && source) list.current?.showPopover({ source })
    else list.current?.hidePopover()
  }, [list, inputId, open])
  useEffect(() => {
    if (open) list.current?.children[active]?.scrollIntoView({ block: 'nearest' })
  }, [list, open, active])
}
