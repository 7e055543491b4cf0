/** Adds limits to input schemas, so that the work for hostile input is bounded. */

import { patternSentence } from '../../../lib/patterns.ts'

type Json = Record<string, unknown>

/** Schema keywords that input schemas must not contain, because limits would not apply inside them. */
const UNKNOWN = ['anyOf', 'oneOf', 'allOf', '$ref', 'patternProperties', 'prefixItems']

/**
 * Adds limits to all levels of an input schema. A list that is too long yields a single issue, and its items are not
 * read. @throws Error at startup for unbounded cost, or a pattern without an error message
 */
export function checkedSchema(schema: Json): Json {
  const unknown = UNKNOWN.find((keyword) => keyword in schema)
  if (unknown)
    throw new Error(
      `the schema of an input must not contain ${unknown}, because text inside it is not checked`,
    )
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

/** Returns true for free text. Enumerated words need no check, because they can always be stored. */
const isText = ({ type, enum: words }: Json) => !words && [type].flat().includes('string')

function checkedProperties({ properties, freeForm }: Json): Json {
  return {
    properties: Object.fromEntries(
      Object.entries(properties as Record<string, Json>).map(([name, inner]) => [
        name,
        checkedSchema(inner),
      ]),
    ),
    // Removes unknown fields, so that no other code receives them.
    ...(freeForm ? {} : { additionalProperties: false }),
  }
}

function checkedItems(maxItems: unknown, items: Json): Json {
  if (typeof maxItems !== 'number') throw new Error('a list in an input needs maxItems')
  return { if: { minItems: maxItems + 1 }, else: { items: checkedSchema(items) } }
}
