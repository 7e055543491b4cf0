/**
 * The cursor of a list: where a page ended, as an opaque text that the next one begins behind. It
 * holds nothing that its caller was not shown, so it is no secret; whatever comes back is checked.
 */
import { createHash } from 'node:crypto'

/** What a list can be sorted by, and as what the values of such a column are kept. */
export type SortKind = 'integer' | 'text' | 'time'

export type SortValue = string | number

/** Where a page ended, and what the pages behind it need not find out again. */
export interface Cursor {
  /** The sort column's value of the last record and, unless that is the id itself, its id. */
  key: readonly SortValue[]
  /** The number of the page that begins here. */
  page: number
  total: number
  estimated: boolean
}

/** Longer than any cursor that is made: the longest key is a name of 200 characters of 4 bytes each. */
export const MAX_CURSOR = 4_000
/** In UTF-16 units, of which such a name has 400. */
const MAX_TEXT = 512

/** @param binding everything that has to stay the same from page to page */
export function writeCursor(binding: string, { key, page, total, estimated }: Cursor): string {
  const parts = [digestOf(binding), page, total, estimated ? 1 : 0, ...key]
  return Buffer.from(JSON.stringify(parts)).toString('base64url')
}

/** Reads what `writeCursor` wrote for the same binding; undefined for anything else. */
export function readCursor(
  binding: string,
  kinds: readonly SortKind[],
  text: string,
): Cursor | undefined {
  const parts = partsOf(text)
  if (!parts || parts.length !== 4 + kinds.length) return undefined
  const [digest, page, total, estimated, ...key] = parts
  if (digest !== digestOf(binding)) return undefined
  if (!isCount(page) || !isCount(total) || (estimated !== 0 && estimated !== 1)) return undefined
  if (!kinds.every((kind, index) => IS_KIND[kind](key[index]))) return undefined
  return { key: key as SortValue[], page, total, estimated: estimated === 1 }
}

const IS_KIND: Record<SortKind, (value: unknown) => boolean> = {
  integer: isCount,
  text: (value) =>
    typeof value === 'string' &&
    value.length <= MAX_TEXT &&
    value.isWellFormed() &&
    !value.includes('\0'),
  time: (value) => {
    if (typeof value !== 'string' || !/^\d{4}-[\d-]+T[\d:.]+Z$/.test(value)) return false
    const time = Date.parse(value)
    return !Number.isNaN(time) && new Date(time).toISOString() === value && value > '0001'
  },
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function partsOf(text: string): unknown[] | undefined {
  const bytes = Buffer.from(text, 'base64url')
  // One spelling each: the decoder passes over what it does not know.
  if (text.length > MAX_CURSOR || bytes.toString('base64url') !== text) return undefined
  try {
    const parts: unknown = JSON.parse(bytes.toString())
    return Array.isArray(parts) ? parts : undefined
  } catch {
    return undefined
  }
}

function digestOf(binding: string): string {
  return createHash('sha256').update(binding).digest('base64url').slice(0, 11)
}
