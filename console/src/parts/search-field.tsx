import { useEffect, useRef, useState } from 'react'
import { Icon } from './icon.tsx'
import { useShortcuts } from './keys.ts'
import './search-field.css'

interface SearchFieldProps {
  readonly label: string
  /** The text that the list is searched by now. */
  readonly value: string
  /** Called once typing has paused for 200 ms. */
  readonly onSearch: (text: string) => void
}

const PAUSE_MS = 200

/** The search of a list. The key `/` leads to it. */
export function SearchField({ label, value, onSearch }: SearchFieldProps) {
  const input = useRef<HTMLInputElement>(null)
  const latest = useRef(onSearch)
  latest.current = onSearch
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  useEffect(() => {
    if (text === value) return
    const timer = setTimeout(() => latest.current(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text, value])
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
        onChange={(event) => setText(event.target.value)}
      />
    </label>
  )
}
