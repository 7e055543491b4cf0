/** A schema as it is checked: bounded in what a hostile input can make it look at. */

import { sentenceOf } from '../../../lib/patterns.ts'

type Json = Record<string, unknown>

/** What could hold text or lists that the additions below would miss. */
const UNKNOWN = ['anyOf', 'oneOf', 'allOf', '$ref', 'patternProperties', 'prefixItems']

/**
 * Adds to the schema of an input, all the way down, that text can be stored and that a list which is too
 * long costs one issue, its items not being looked at.
 * @throws Error at boot for a schema whose cost would have no bound, and for a pattern without a sentence
 */
export function checkedSchema(schema: Json): Json {
  const unknown = UNKNOWN.find((keyword) => keyword in schema)
  if (unknown) throw new Error(`${unknown} in the schema of an input is not checked for text`)
  if (typeof schema.pattern === 'string') sentenceOf(schema.pattern)
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

/** Words of a list can be stored anyway. */
const isText = ({ type, enum: words }: Json) => !words && [type].flat().includes('string')

function checkedProperties({ properties, freeForm }: Json): Json {
  return {
    properties: Object.fromEntries(
      Object.entries(properties as Record<string, Json>).map(([name, inner]) => [
        name,
        checkedSchema(inner),
      ]),
    ),
    // Unknown fields are ignored: they are taken out, so that nothing behind this ever meets one.
    ...(freeForm ? {} : { additionalProperties: false }),
  }
}

function checkedItems(maxItems: unknown, items: Json): Json {
  if (typeof maxItems !== 'number') throw new Error('a list in an input needs maxItems')
  return { if: { minItems: maxItems + 1 }, else: { items: checkedSchema(items) } }
}
