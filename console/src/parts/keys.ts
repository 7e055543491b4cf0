/** The keyboard shortcuts of the current page. A single listener handles all of them. */
import { useEffect, useRef, useSyncExternalStore } from 'react'

/** A shortcut: one key ("j"), a chord ("ctrl+k"), or two keys in sequence ("g u"). */
export interface Shortcut {
  readonly keys: string
  readonly label: string
  readonly run: () => void
}

const SEQUENCE_MS = 1_000
const STORAGE_KEY = 'single-keys'

let shortcuts: readonly Shortcut[] = []
let prefix: { key: string; at: number } | undefined
const listeners = new Set<() => void>()

/** Registers shortcuts while the component is shown. */
export function useShortcuts(own: readonly Shortcut[]): void {
  const latest = useRef(own)
  latest.current = own
  const names = own.map(({ keys, label }) => `${keys}\n${label}`).join('\n\n')
  useEffect(() => {
    const registered = names.split('\n\n').flatMap((name) => {
      const [keys, label] = name.split('\n')
      if (!keys || !label) return []
      return [{ keys, label, run: () => latest.current.find((one) => one.keys === keys)?.run() }]
    })
    setShortcuts([...shortcuts, ...registered])
    return () => setShortcuts(shortcuts.filter((shortcut) => !registered.includes(shortcut)))
  }, [names])
}

/** Returns all shortcuts of the page. */
export function useAllShortcuts(): readonly Shortcut[] {
  return useSyncExternalStore(subscribe, () => shortcuts)
}

/** True unless the user disabled single-letter shortcuts. */
export const areSingleKeysOn = (): boolean => localStorage.getItem(STORAGE_KEY) !== 'off'

/** Enables or disables single-letter shortcuts in this browser. */
export function switchSingleKeys(isOn: boolean): void {
  if (isOn) localStorage.removeItem(STORAGE_KEY)
  else localStorage.setItem(STORAGE_KEY, 'off')
  for (const listener of listeners) listener()
}

/** Returns whether single-letter shortcuts are enabled, and re-renders when this changes. */
export function useSingleKeys(): boolean {
  return useSyncExternalStore(subscribe, areSingleKeysOn)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function setShortcuts(next: readonly Shortcut[]): void {
  shortcuts = next
  for (const listener of listeners) listener()
}

/** Starts listening. Returns a function that stops listening. The shell calls this once. */
export function listenToKeys(): () => void {
  window.addEventListener('keydown', handleKey)
  return () => window.removeEventListener('keydown', handleKey)
}

function handleKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || document.querySelector('dialog:modal')) return
  // Windows reports AltGr, which some layouts need for "?" or "/", as Ctrl and Alt.
  const isAltGraph = event.getModifierState('AltGraph')
  const hasModifier = !isAltGraph && (event.ctrlKey || event.metaKey)
  if (
    (event.altKey && !isAltGraph) ||
    (!hasModifier && (isTyping(event.target) || !isAllowed(event.key)))
  )
    return
  const pressed = nameOf(event, hasModifier)
  const sequence =
    prefix && event.timeStamp - prefix.at < SEQUENCE_MS ? `${prefix.key} ${pressed}` : pressed
  // The latest registration wins, so that a page can override a shortcut of the shell.
  const found = shortcuts.findLast(({ keys }) => keys === sequence)
  const isPrefix = !found && shortcuts.some(({ keys }) => keys.startsWith(`${pressed} `))
  prefix = isPrefix ? { key: pressed, at: event.timeStamp } : undefined
  if (!found) return
  event.preventDefault()
  found.run()
}

const isAllowed = (key: string): boolean => key.length > 1 || areSingleKeysOn()

function nameOf(event: KeyboardEvent, hasModifier: boolean): string {
  const key = event.key.toLowerCase()
  if (hasModifier) return `ctrl+${key}`
  // Adds `shift+` only for letters. Characters such as "?" are already typed with Shift.
  return event.shiftKey && /^[a-z]$/.test(key) ? `shift+${key}` : key
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio'].includes(target.type)
  return target.matches('textarea, select') || target.isContentEditable
}
