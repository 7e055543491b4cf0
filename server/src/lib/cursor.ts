/** The cursor of a list: the end of a page, as an opaque text. It contains only values that the caller has seen. */
import { createHash } from 'node:crypto'

export type SortKind = 'integer' | 'text' | 'time'

export type SortValue = string | number

/** The position where a page ended, and totals that the following pages reuse. */
export interface Cursor {
  /** The sort value of the last record, followed by its id unless the list is sorted by id. */
  key: readonly SortValue[]
  page: number
  total: number
  estimated: boolean
}

/** The maximum length of a cursor. The longest real one has a key of 200 characters of 4 bytes each. */
export const MAX_CURSOR = 4_000
/** The maximum length of a text in UTF-16 code units. A name of 200 characters has up to 400 code units. */
const MAX_TEXT = 512

/** @param binding all values that must stay the same from page to page */
export function writeCursor(binding: string, { key, page, total, estimated }: Cursor): string {
  const parts = [digestOf(binding), page, total, estimated ? 1 : 0, ...key]
  return Buffer.from(JSON.stringify(parts)).toString('base64url')
}

/** Reads a cursor that `writeCursor` has written for the same binding. Returns undefined for any other text. */
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
  // Accepts only the canonical encoding, because the decoder ignores characters that it does not know.
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
