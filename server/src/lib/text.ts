/** What text may come in: no NUL bytes (PostgreSQL holds none) and no lone surrogates (not UTF-8). */
import { digitsBeyondJson } from './decimal.ts'

/** Whether a string can be stored and sent as UTF-8 as it is. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** Enough for a client to mend its input, too few to make an answer much larger than the question. */
const MAX_PATHS = 20
/** Characters of a key that a path shows. */
const MAX_STEP_LENGTH = 60

export interface Inspection {
  /** Whether there are more than the allowed levels of arrays and objects; what is deeper was not looked at. */
  isTooDeep: boolean
  /** Whether a number is none any more: JSON has digits that IEEE 754 has not. Of what was looked at. */
  isBeyondNumbers: boolean
  /** The paths of the first twenty strings and keys that cannot be stored, depth-first. */
  unstorable: string[][]
  /** By how many characters its numbers are longer in PostgreSQL than in JSON; of what was looked at. */
  digitsBeyondJson: number
}

/** Walks a value once, down to `deepest` levels of arrays and objects. */
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

/** `path` is one list for the whole walk: it is copied for what is found, and for nothing else. */
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

/** Most items of a long list are nothing to look into: no step is written for those. */
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
