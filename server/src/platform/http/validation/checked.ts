/** Adds limits to input schemas, so that hostile input cannot cause unbounded work. */

import { patternSentence } from '../../../lib/patterns.ts'

type Json = Record<string, unknown>

/** Schema keywords that are refused, because text or lists inside them would escape the added limits. */
const UNKNOWN = ['anyOf', 'oneOf', 'allOf', '$ref', 'patternProperties', 'prefixItems']

/**
 * Adds limits to all levels of an input schema: text must be storable, and a list that is too long yields one issue
 * without reading its items.
 * @throws Error at startup for a schema with unbounded cost or a pattern without an error message
 */
export function checkedSchema(schema: Json): Json {
  const unknown = UNKNOWN.find((keyword) => keyword in schema)
  if (unknown) throw new Error(`${unknown} in the schema of an input is not checked for text`)
  if (typeof schema.pattern === 'string') patternSentence(schema.pattern)
  const isOpen = schema.type === 'object' && !schema.properties
  if (isOpen && !schema.freeForm) throw new Error('an open object in an input needs freeForm')
  const { items, ...rest } = schema
  return {
    ...rest,
    ...(isText(schema) ? { storable: true } : {}),
    ...(schema.properties ? checkedProperties(schema) : {}),
    ...(items ? checkedItems(schema.maxItems, items as Json) : {}),
  }
}

/** Returns true for free text. Enumerated words need no check, because they are always storable. */
const isText = ({ type, enum: words }: Json) => !words && [type].flat().includes('string')

function checkedProperties({ properties, freeForm }: Json): Json {
  return {
    properties: Object.fromEntries(
      Object.entries(properties as Record<string, Json>).map(([name, inner]) => [
        name,
        checkedSchema(inner),
      ]),
    ),
    // Removes unknown fields, so that no later code receives them.
    ...(freeForm ? {} : { additionalProperties: false }),
  }
}

function checkedItems(maxItems: unknown, items: Json): Json {
  if (typeof maxItems !== 'number') throw new Error('a list in an input needs maxItems')
  return { if: { minItems: maxItems + 1 }, else: { items: checkedSchema(items) } }
}
