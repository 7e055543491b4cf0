/** Converts text in paths and queries to the types of the schema. JSON bodies are never converted. */

interface PropertySchema {
  type?: string
  default?: unknown
  items?: PropertySchema
}

const INTEGER = /^[+-]?\d{1,20}$/
const TRUE = new Set(['true', '1', 'yes', 'on', 't', 'y'])
const FALSE = new Set(['false', '0', 'no', 'off', 'f', 'n'])

/**
 * Converts each value whose text matches the type in the schema. Leaves other values as text, which the validator then
 * rejects. A repeated parameter becomes a list if the schema expects a list. Otherwise its last value is used. Changes
 * `input` in place.
 */
export function coerceText(
  input: Record<string, unknown>,
  properties: Record<string, PropertySchema>,
): void {
  for (const [name, schema] of Object.entries(properties)) {
    const given = input[name]
    if (schema.type === 'array') {
      if (given !== undefined)
        input[name] = [given].flat().map((text) => coerce(text, schema.items?.type))
      continue
    }
    const text = Array.isArray(given) ? given.at(-1) : given
    if (text === undefined) continue
    input[name] = coerce(text, schema.type)
  }
}

function coerce(text: unknown, type: string | undefined): unknown {
  if (typeof text !== 'string') return text
  if (type === 'integer' && INTEGER.test(text)) return Number(text)
  if (type === 'boolean') {
    const word = text.toLowerCase()
    if (TRUE.has(word)) return true
    if (FALSE.has(word)) return false
  }
  return text
}
