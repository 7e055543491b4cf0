/** Converts schemas into the form of the OpenAPI document: named schemas as references, without internal keywords. */
import type { TSchema } from 'typebox'

export type Json = Record<string, unknown>

/** Internal schema keywords. They have no meaning for readers of the document. */
const INTERNAL = new Set([
  'trim',
  'unquoted',
  'undirected',
  'asciiDomain',
  'freeForm',
  'eachOf',
  'noneOf',
  '$id',
  'ranges',
])

interface Fields {
  properties?: Record<string, TSchema & { description?: string }>
  required?: string[]
}

/** Returns the schema of a request. Fields with a default are not required. */
export function whatMustBeSent(schema: object): Fields {
  const { properties, required, ...others } = schema as Fields
  // Skips a `properties` object, in which these keys are names of properties and not keywords.
  if (!properties || !Array.isArray(required)) return schema
  const asked = required.filter((name) => !('default' in (properties[name] ?? {})))
  return { ...others, ...(asked.length > 0 ? { required: asked } : {}), properties }
}

/**
 * Returns the schema as the document shows it, and adds named ones to `components`. @param adapt changes nested schemas
 */
export function publish(
  schema: unknown,
  components: Json,
  adapt = (inner: object): object => inner,
): unknown {
  if (Array.isArray(schema)) return schema.map((inner) => publish(inner, components, adapt))
  if (typeof schema !== 'object' || schema === null) return schema
  const { $id } = schema as { $id?: string }
  const shown = Object.fromEntries(
    Object.entries(adapt(schema))
      .filter(([key]) => !INTERNAL.has(key))
      .map(([key, inner]) => [key, publish(inner, components, adapt)]),
  )
  if (!$id) return shown
  components[$id] = shown
  return { $ref: `#/components/schemas/${$id}` }
}
