/** Parses the common parts of both providers' bodies: JSON without loss of precision, names and tenant ids. */
import { isStorable, utf8Text } from '../../lib/text.ts'
import { wholeUnits } from './money.ts'

export type JsonObject = Record<string, unknown>

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns whether a value is non-empty text of at most `most` characters that can be stored. */
export const isName = (value: unknown, most: number): value is string =>
  typeof value === 'string' && value !== '' && [...value].length <= most && isStorable(value)

/** The key under which the source text of a parsed number is stored. */
const SOURCE = Symbol('source')

/** Returns the source text of a number that `exactly` has parsed. Returns undefined for any other value. */
export const sourceOf = (value: unknown): string | undefined =>
  (value as { [SOURCE]?: string } | null | undefined)?.[SOURCE]

/** Parses JSON, with the source text of each number as its value. Returns undefined for invalid JSON or UTF-8. */
export function exactly(body: Buffer): unknown {
  const parse = JSON.parse as (
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ) => unknown
  return readBy(body, (text) =>
    parse(text, (_key, value, { source }) =>
      typeof value === 'number' ? { [SOURCE]: source } : value,
    ),
  )
}

/** The maximum depth of nested JSON. Real bodies are less deep, and the stack allows this depth. */
const MAX_LEVELS = 1_000

/**
 * Parses JSON without the source text of numbers. Returns undefined if the JSON is invalid or nested too deeply.
 * `exactly` calls a function for every value, which costs too much for bodies from unverified senders.
 */
export const inexactly = (body: Buffer): unknown =>
  isDeeper(body, MAX_LEVELS) ? undefined : readBy(body, JSON.parse)

const [QUOTE, ESCAPE] = Buffer.from('"\\')
const OPENING = new Set(Buffer.from('[{'))
const CLOSING = new Set(Buffer.from(']}'))

/** Returns whether JSON is nested deeper than `most` levels. Code that walks deeper JSON could overflow the stack. */
function isDeeper(json: Buffer, most: number): boolean {
  let levels = 0
  let isText = false
  for (let at = 0; at < json.length && levels <= most; at += 1) {
    const byte = json[at] as number
    if (byte === QUOTE) isText = !isText
    else if (isText) at += byte === ESCAPE ? 1 : 0
    else if (OPENING.has(byte)) levels += 1
    else if (CLOSING.has(byte)) levels -= 1
  }
  return levels > most
}

function readBy(body: Buffer, parse: (text: string) => unknown): unknown {
  const text = utf8Text(body)
  if (text === undefined) return undefined
  try {
    return parse(text)
  } catch {
    // The JSON is invalid, or nested too deeply for the stack. In both cases it does not describe a payment.
    return undefined
  }
}

/** Returns `tenant_id` from a payment's metadata, or undefined if it is invalid. Providers may send it as a string. */
export function tenantIn(metadata: unknown): number | undefined {
  const value = isObject(metadata) ? metadata.tenant_id : undefined
  const digits = typeof value === 'string' && /^[0-9]+$/.test(value) ? value : sourceOf(value)
  const id = wholeUnits(digits?.replace(/^0+(?=[0-9])/, ''))
  return id === 0 ? undefined : id
}
