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
 * Converts values whose text matches the type, in place. Others stay text, which the validator rejects. A repeated
 * parameter becomes a list if the schema expects one. Otherwise its last value is used.
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
