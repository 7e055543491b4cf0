/** Text without NUL, which PostgreSQL cannot store, and lone surrogates, which UTF-8 cannot represent. */
import { digitsBeyondJson } from './decimal.ts'

/** Returns true if a string can be stored and sent as UTF-8 unchanged. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** The maximum number of reported paths, which keeps the response at about the size of the request. */
const MAX_PATHS = 20
const MAX_STEP_LENGTH = 60

export interface Inspection {
  /** True if arrays and objects are nested too deeply. Deeper values were not inspected. */
  isTooDeep: boolean
  /** True if a number was too large. JSON allows numbers that IEEE 754 cannot represent. */
  isBeyondNumbers: boolean
  /** The paths of the first twenty strings and keys that cannot be stored, depth-first. */
  unstorable: string[][]
  /** How many more characters PostgreSQL needs for the inspected numbers than JSON does. */
  digitsBeyondJson: number
}

export function inspect(value: unknown, deepest: number): Inspection {
  const found: Inspection = {
    isTooDeep: false,
    isBeyondNumbers: false,
    unstorable: [],
    digitsBeyondJson: 0,
  }
  walk(value, [], deepest, found)
  return found
}

/** Walks one value. All calls share `path`. It is copied only when a fault is found. */
function walk(value: unknown, path: string[], levels: number, found: Inspection): void {
  if (typeof value === 'string') {
    if (!isStorable(value)) note(path, found)
    return
  }
  if (typeof value === 'number') weigh(value, found)
  if (typeof value !== 'object' || value === null) return
  if (levels === 0) {
    found.isTooDeep = true
    return
  }
  if (Array.isArray(value)) walkItems(value, path, levels - 1, found)
  else walkFields(value, path, levels - 1, found)
}

function walkFields(value: object, path: string[], levels: number, found: Inspection): void {
  for (const key of Object.keys(value)) {
    if (found.unstorable.length >= MAX_PATHS) return
    const isKnown = isStorable(key)
    path.push(isKnown ? key : '[key]')
    if (isKnown) walk((value as Record<string, unknown>)[key], path, levels, found)
    else note(path, found)
    path.pop()
  }
}

/** Skips list items that need no inspection, so that a long list causes little work. */
function walkItems(items: unknown[], path: string[], levels: number, found: Inspection): void {
  for (let index = 0; index < items.length; index += 1) {
    if (found.unstorable.length >= MAX_PATHS) return
    const item = items[index]
    if (typeof item === 'number') weigh(item, found)
    if (typeof item === 'string' ? isStorable(item) : typeof item !== 'object') continue
    path.push(String(index))
    walk(item, path, levels, found)
    path.pop()
  }
}

function weigh(number: number, found: Inspection): void {
  found.digitsBeyondJson += digitsBeyondJson(number)
  if (!Number.isFinite(number)) found.isBeyondNumbers = true
}

function note(path: readonly string[], found: Inspection): void {
  found.unstorable.push(path.map((step) => step.slice(0, MAX_STEP_LENGTH)))
}

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Decodes UTF-8 text from another program, without a leading byte-order mark. Returns undefined when the bytes are not UTF-8. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}
