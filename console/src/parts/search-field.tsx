import { useEffect, useRef, useState } from 'react'
import { Icon } from './icon.tsx'
import { useShortcuts } from './keys.ts'
import { MAX_SEARCH_LENGTH } from './list/parameters.ts'
import './data-table/data-table.css'

interface SearchFieldProps {
  readonly label: string
  /** The current search term of the list. */
  readonly value: string
  /** Called when the user has stopped typing for 200 ms. */
  readonly onSearch: (text: string) => void
}

const PAUSE_MS = 200

/** The search field of a list. The key `/` moves the focus to it. */
export function SearchField({ label, value, onSearch }: SearchFieldProps) {
  const input = useRef<HTMLInputElement>(null)
  const latest = useRef(onSearch)
  latest.current = onSearch
  const [text, setText] = useState(value)
  // The search term that was last passed to the list. When the URL contains it with a delay, it does not replace newer
  // input.
  const sent = useRef(value)
  useEffect(() => {
    if (value === sent.current) return
    sent.current = value
    setText(value)
  }, [value])
  useEffect(() => {
    if (text === sent.current) return
    const timer = setTimeout(() => {
      sent.current = text
      latest.current(text)
    }, PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  useShortcuts([{ keys: '/', label, run: () => input.current?.focus() }])
  return (
    <label className="search-field">
      <span className="hidden">{label}</span>
      <Icon name="search" />
      <input
        ref={input}
        type="search"
        placeholder={label}
        value={text}
        maxLength={MAX_SEARCH_LENGTH}
        onChange={(event) => setText(event.target.value)}
      />
    </label>
  )
}
