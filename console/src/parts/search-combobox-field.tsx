import { useCallback, useState } from 'react'
import type { ComboboxOption } from './combobox.tsx'
import { RESTORE_EVENT } from './form-changes.ts'
import { Labelled } from './form-fields.tsx'
import { type OptionSearch, SearchCombobox } from './search-combobox.tsx'

interface SearchComboboxFieldProps extends OptionSearch {
  readonly name: string
  readonly label: string
  readonly hint?: string
  /** The initial option; undefined for none. */
  readonly initial?: ComboboxOption | undefined
}

/** The form field for a record that the service searches for. It sends the id of the record, or nothing. */
export function SearchComboboxField({ name, label, hint, ...props }: SearchComboboxFieldProps) {
  const { initial: given, ...search } = props
  const [initial] = useState(given)
  const [chosen, setChosen] = useState(initial)
  const restorable = useCallback((input: HTMLInputElement | null) => {
    const restore = ({ detail }: CustomEvent<ComboboxOption | undefined>) => setChosen(detail)
    input?.addEventListener(RESTORE_EVENT, restore as EventListener)
    return () => input?.removeEventListener(RESTORE_EVENT, restore as EventListener)
  }, [])
  return (
    <Labelled name={name} label={label} hint={hint}>
      {({ name: field, ...attributes }) => (
        <>
          <SearchCombobox
            {...attributes}
            {...search}
            label={label}
            chosen={chosen}
            onChange={setChosen}
          />
          <input
            ref={restorable}
            type="hidden"
            name={field}
            value={chosen?.value ?? ''}
            data-initial={initial?.value ?? ''}
            data-label={chosen?.label ?? ''}
          />
        </>
      )}
    </Labelled>
  )
}

/** Reads the id that the field sends. */
export const readChosenId = (text: string): number | null => (text === '' ? null : Number(text))
