/** Determines the content of an entry about a change: only values that differ, up to a size limit. */
import { createHash } from 'node:crypto'

/** The size above which a value in a free-form object is replaced by a hash. */
const MAX_VALUE_BYTES = 1_024
/** The size above which the whole change of a free-form object is replaced by a single hash. */
const MAX_OBJECT_BYTES = 4_096

type Json = Record<string, unknown>

/** Recorded instead of a large value: SHA-256 and size of its canonical JSON in UTF-8. */
interface Digest {
  sha256: string
  bytes: number
}

/**
 * Returns `{before, after}` with the fields that differ. Reads only `fields`, so that no secret column is included. For
 * objects such as settings, includes only the keys that differ.
 */
export function changesBetween<T extends object>(
  before: T | null,
  after: T | null,
  fields: readonly (keyof T & string)[],
): { before: Json | null; after: Json | null } {
  const old = before && ({} as Json)
  const now = after && ({} as Json)
  for (const field of fields) {
    const [was, is] = [before?.[field], after?.[field]]
    if (isSame(was, is)) continue
    if (old) old[field] = shown(was, is)
    if (now) now[field] = shown(is, was)
  }
  return { before: old, after: now }
}

/** Returns the keys of `change` whose value differs from the record's. An empty list means that nothing changes. */
export function differing<T extends object>(
  record: T,
  change: { readonly [K in keyof T]?: unknown },
): string[] {
  const given = Object.entries(change).filter(([, value]) => value !== undefined)
  return given.flatMap(([key, value]) => (isSame(record[key as keyof T], value) ? [] : [key]))
}

/** Returns the part of `value` to record. @param other the same field's value on the other side of the change */
function shown(value: unknown, other: unknown): unknown {
  if (!isObject(value)) return value
  const differing = Object.keys(value).filter(
    (key) => !isObject(other) || !isSame(value[key], other[key]),
  )
  const short = Object.fromEntries(differing.map((key) => [key, shortened(value[key])]))
  if (bytesOf(canonical(short)) <= MAX_OBJECT_BYTES) return short
  return digestOf(canonical(Object.fromEntries(differing.map((key) => [key, value[key]]))))
}

function shortened(value: unknown): unknown {
  const text = canonical(value)
  return bytesOf(text) > MAX_VALUE_BYTES ? digestOf(text) : value
}

const bytesOf = (text: string) => Buffer.byteLength(text)

function digestOf(text: string): Digest {
  return { sha256: createHash('sha256').update(text).digest('hex'), bytes: bytesOf(text) }
}

/** Returns JSON without whitespace and with keys sorted by their UTF-16 code units (RFC 8785). */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value) ?? 'null'
  const keys = Object.keys(value).sort()
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`
}

/** Compares canonical forms directly, because formatting a long object takes as long as all other work on it. */
function isSame(one: unknown, other: unknown): boolean {
  return (one === undefined) === (other === undefined) && isSameJson(one, other)
}

function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (Array.isArray(one))
    return (
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, index) => isSameJson(item, other[index]))
    )
  if (!isObject(one)) return !isObject(other) && !Array.isArray(other) && isSameText(one, other)
  if (!isObject(other)) return false
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSameJson(one[key], other[key]))
  )
}

const isSameText = (one: unknown, other: unknown) => canonical(one) === canonical(other)

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
