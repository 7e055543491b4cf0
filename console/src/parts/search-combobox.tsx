import { type QueryKey, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { comboboxTexts as texts } from './combobox.texts.ts'
import { Combobox, type ComboboxAttributes, type ComboboxOption } from './combobox.tsx'
import { usePaused } from './paused.ts'

/** Returns the request for the options that match a text. The query key must contain the clinic. */
export interface OptionsRequest {
  readonly queryKey: QueryKey
  readonly queryFn: () => Promise<readonly ComboboxOption[]>
}

/** The search behind a combobox. */
export interface OptionSearch {
  readonly find: (text: string) => OptionsRequest
  /** The minimum number of letters for a search. If absent, the first options are loaded without any text. */
  readonly minLength?: number
  /** The label of the option "none". The option is offered while the text is empty. */
  readonly noneLabel: string
}

interface SearchComboboxProps extends OptionSearch, ComboboxAttributes {
  readonly label: string
  readonly placeholder?: string
  /** The chosen option; undefined for none. */
  readonly chosen: ComboboxOption | undefined
  readonly onChange: (chosen: ComboboxOption | undefined) => void
}

/** A choice among records that the service searches for. Only records that match the typed text can be chosen. */
export function SearchCombobox(props: SearchComboboxProps) {
  const { chosen, onChange, find, minLength = 0, noneLabel, ...others } = props
  const [text, setText] = useState<string>()
  const { options, message } = useOptions(text?.trim(), find, minLength)
  const shown = text ? options : [{ value: '', label: noneLabel }, ...options]
  return (
    <Combobox
      {...others}
      options={shown}
      message={message}
      value={chosen?.value ?? ''}
      valueLabel={chosen?.label ?? noneLabel}
      onChange={(value) =>
        onChange(value === '' ? undefined : options.find((option) => option.value === value))
      }
      onSearch={setText}
      // The first options load when the field receives the focus.
      onFocus={() => setText('')}
    />
  )
}

const NONE: readonly ComboboxOption[] = []

/** Finds the options for a text. Returns no options until the user has stopped typing and the response has arrived. */
function useOptions(text: string | undefined, find: OptionSearch['find'], minLength: number) {
  const paused = usePaused(text)
  const isLong = paused !== undefined && paused.length >= minLength
  const query = useQuery({ ...find(paused ?? ''), enabled: isLong })
  if (text !== undefined && text.length < minLength)
    return { options: NONE, message: texts.tooShort(minLength) }
  if (text !== paused) return { options: NONE, message: texts.searching }
  if (query.data) return { options: query.data, message: texts.nothingFound }
  return { options: NONE, message: query.failureReason ? texts.failed : texts.searching }
}
