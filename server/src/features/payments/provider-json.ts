/** What both providers' bodies have in common: JSON read without a loss, names, and the tenant's number. */
import { isStorable } from '../../lib/text.ts'
import { utf8Text } from '../../lib/utf8.ts'
import { wholeUnits } from './money.ts'

export type JsonObject = Record<string, unknown>

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether it is text that can name something: not empty, of so many characters at the most, storable. */
export const isName = (value: unknown, most: number): value is string =>
  typeof value === 'string' && value !== '' && [...value].length <= most && isStorable(value)

/** Marks a number that is kept as it was written. */
const SOURCE = Symbol('source')

/** The digits of a number as they were written; undefined for what is no number. */
export const sourceOf = (value: unknown): string | undefined =>
  (value as { [SOURCE]?: string } | null | undefined)?.[SOURCE]

/** As `JSON.parse`, with every number as it was written; undefined for what is no JSON in UTF-8. */
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

/** More than any body has that means something, and few enough for the stack. */
const MAX_LEVELS = 1_000

/**
 * As `exactly`, for whoever reads no number: that one calls a function for every value, which is too dear
 * for the bytes of somebody who may be anybody.
 */
export const inexactly = (body: Buffer): unknown =>
  isDeeper(body, MAX_LEVELS) ? undefined : readBy(body, JSON.parse)

const [QUOTE, ESCAPE] = Buffer.from('"\\')
const OPENING = new Set(Buffer.from('[{'))
const CLOSING = new Set(Buffer.from(']}'))

/** Whether JSON is nested deeper. Parsed it could be nested deeper than whoever walks through it can go. */
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
    // No JSON, or nested deeper than the stack: either says nothing of a payment.
    return undefined
  }
}

/** `tenant_id` of a payment's metadata: a number, or digits in a string, as providers make strings of it. */
export function tenantIn(metadata: unknown): number | undefined {
  const value = isObject(metadata) ? metadata.tenant_id : undefined
  const digits = typeof value === 'string' && /^[0-9]+$/.test(value) ? value : sourceOf(value)
  const id = wholeUnits(digits?.replace(/^0+(?=[0-9])/, ''))
  return id === 0 ? undefined : id
}
