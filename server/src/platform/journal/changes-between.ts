/** What an entry says of a change: no more of a record than differs, and never more than its bound. */
import { createHash } from 'node:crypto'

/** A value of a free-form object that takes more is told by its hash. */
const MAX_VALUE_BYTES = 1_024
/** So is all that changed in such an object, where the rest together takes more. */
const MAX_OBJECT_BYTES = 4_096

type Json = Record<string, unknown>

/** Stands for a value: SHA-256 and size of its canonical JSON, in UTF-8. */
interface Digest {
  sha256: string
  bytes: number
}

/**
 * `{before, after}` of the fields that differ. Only `fields` are looked at, so a secret column is
 * never in by accident. Of an object, such as settings, only the keys that differ are told.
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

/** The fields that a change gives another value than the record has: none is no change at all. */
export function differing<T extends object>(
  record: T,
  change: { readonly [K in keyof T]?: unknown },
): string[] {
  const given = Object.entries(change).filter(([, value]) => value !== undefined)
  return given.flatMap(([key, value]) => (isSame(record[key as keyof T], value) ? [] : [key]))
}

/** What is told of `value` beside `other`, which stands or stood in its place. */
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

/** JSON without blanks, the keys of every object in the order of their UTF-16 code units (RFC 8785). */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value) ?? 'null'
  const keys = Object.keys(value).sort()
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`
}

/**
 * Whether two values have the same canonical form, which is not made for it: of a long object it would
 * take as long as all else that is done with it.
 */
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
