/** What text may come in: no NUL bytes (PostgreSQL holds none) and no lone surrogates (not UTF-8). */

/** Whether a string can be stored and sent as UTF-8 as it is. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** Nothing that the service takes is nested deeper; a bound keeps every later walk off the stack's end. */
export const DEEPEST = 64

/** Enough for a client to mend its input, too few to make an answer much larger than the question. */
const MOST_PATHS = 20
/** Characters of a key that a path shows. */
const LONGEST_STEP = 60

/**
 * The paths of the strings (and keys) below `value` that cannot be stored, and of what is nested too
 * deep, depth-first; the first twenty of them, as each may be long.
 */
export function unstorablePaths(value: unknown): string[][] {
  const found: string[][] = []
  walk(value, [], found)
  return found
}

function walk(value: unknown, path: string[], found: string[][]): void {
  if (found.length >= MOST_PATHS) return
  if (typeof value === 'string') {
    if (!isStorable(value)) found.push(path)
    return
  }
  if (typeof value !== 'object' || value === null) return
  if (path.length > DEEPEST) return void found.push(path)
  for (const [key, inner] of Object.entries(value)) {
    if (found.length >= MOST_PATHS) return
    if (isStorable(key)) walk(inner, [...path, key.slice(0, LONGEST_STEP)], found)
    else found.push([...path, '[key]'])
  }
}

/** How many levels of arrays and objects `value` has; a plain value has none. Stops at `limit`. */
export function depthOf(value: unknown, limit: number): number {
  if (typeof value !== 'object' || value === null || limit === 0) return 0
  let deepest = 0
  for (const inner of Object.values(value)) {
    deepest = Math.max(deepest, depthOf(inner, limit - 1))
    if (deepest === limit - 1) break
  }
  return 1 + deepest
}
