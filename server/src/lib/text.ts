/** What text may come in: no NUL bytes (PostgreSQL holds none) and no lone surrogates (not UTF-8). */

/** Whether a string can be stored and sent as UTF-8 as it is. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** Nothing that the service takes is nested deeper; a bound keeps every later walk off the stack's end. */
export const DEEPEST = 64

/** The paths of all strings (and keys) below `value` that cannot be stored, and of what is nested too deep. */
export function unstorablePaths(value: unknown, path: string[] = []): string[][] {
  if (typeof value === 'string') return isStorable(value) ? [] : [path]
  if (typeof value !== 'object' || value === null) return []
  if (path.length > DEEPEST) return [path]
  const found: string[][] = []
  for (const [key, inner] of Object.entries(value)) {
    if (!isStorable(key)) found.push([...path, '[key]'])
    else found.push(...unstorablePaths(inner, [...path, key]))
  }
  return found
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
