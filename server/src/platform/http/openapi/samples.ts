/** Builds examples of responses from the examples of their fields. */
import type { TSchema } from 'typebox'
import { fileOf } from '../download.ts'
import type { AnyOperation } from '../operation.ts'

/** The schema keywords from which an example is built. */
interface Keywords {
  examples?: readonly unknown[]
  const?: unknown
  default?: unknown
  enum?: readonly unknown[]
  anyOf?: readonly unknown[]
  type?: string | readonly string[]
  format?: string
  minimum?: number
  properties?: Record<string, TSchema>
  required?: readonly string[]
  items?: TSchema
}

const OF_FORMAT: Readonly<Record<string, string>> = {
  'date-time': '2026-11-21T08:30:00.000Z',
  date: '1984-03-09',
  'idn-email': 'paula@mail.example',
}

/** Returns an example of an operation's success response, or undefined if the response has no JSON body. */
export function answerOf({ id, success: [, schema], example }: AnyOperation): unknown {
  if (!schema) return undefined
  const file = fileOf(schema)
  const answered = file ? file.content : schema
  if (!answered) return undefined
  const sample = sampleOf(answered, id)
  return example?.answer ? { ...(sample as object), ...example.answer } : sample
}

/**
 * Returns an example of a schema: the declared one, the default, null if allowed, or a value of its type. Omits
 * optional fields without examples. @throws Error for a text field without an example
 */
export function sampleOf(schema: TSchema, where: string): unknown {
  const keywords = schema as Keywords
  if (keywords.examples) return keywords.examples[0]
  if (keywords.const !== undefined) return keywords.const
  if (keywords.default !== undefined) return keywords.default
  if (Array.isArray(keywords.type) || keywords.anyOf) return null
  if (keywords.enum) return keywords.enum[0]
  return sampleOfType(keywords, where)
}

function sampleOfType({ type, format, minimum = 0, items, ...of }: Keywords, where: string) {
  if (type === 'object') return sampleOfFields(of, where)
  if (type === 'array') return items ? [sampleOf(items, `${where}[]`)] : []
  if (type === 'integer' || type === 'number') return minimum
  if (type === 'boolean') return false
  const sample = format && OF_FORMAT[format]
  if (!sample) throw new Error(`${where} has no example; give its schema \`examples\``)
  return sample
}

function sampleOfFields({ properties = {}, required = [] }: Keywords, where: string) {
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name, field]) => required.includes(name) || 'examples' in field)
      .map(([name, field]) => [name, sampleOf(field, `${where}.${name}`)]),
  )
}
