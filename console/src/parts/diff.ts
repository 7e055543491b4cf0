/** Compares two versions of a record, field by field. */

/** The value of a field. An absent value and `null` both count as empty. */
export type FieldValue = unknown

/** One compared field. Lists and objects are split into lines. */
export interface FieldDiff {
  readonly field: string
  readonly isChanged: boolean
  readonly before: readonly string[]
  readonly after: readonly string[]
}

/** Compares every field of two versions. Changed fields come first. */
export function diffFields(
  before: Readonly<Record<string, FieldValue>>,
  after: Readonly<Record<string, FieldValue>>,
): FieldDiff[] {
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const diffs = fields.map((field) => {
    const old = linesOf(before[field])
    const next = linesOf(after[field])
    return { field, isChanged: old.join('\n') !== next.join('\n'), before: old, after: next }
  })
  return [...diffs.filter(({ isChanged }) => isChanged), ...diffs.filter((diff) => !diff.isChanged)]
}

/** Formats a value as lines. An empty value has no lines. */
export function linesOf(value: FieldValue): readonly string[] {
  if (value === null || value === undefined || value === '') return []
  if (Array.isArray(value)) return value.map(inline)
  if (typeof value === 'object')
    return Object.entries(value).map(([key, item]) => `${key}: ${inline(item)}`)
  return [inline(value)]
}

function inline(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
