/** Schemas as the document shows them: named ones once, and none of our own keywords. */
import type { TSchema } from 'typebox'

/** A part of the document. */
export type Json = Record<string, unknown>

/** Keywords of our own that mean nothing to readers of the document. */
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

/** The schema asking for less: what has a default is there in the end, but nobody need send it. */
export function whatMustBeSent(schema: object): Fields {
  const { properties, required, ...others } = schema as Fields
  // In a list of properties these are properties that happen to be named so.
  if (!properties || !Array.isArray(required)) return schema
  const asked = required.filter((name) => !('default' in (properties[name] ?? {})))
  return { ...others, ...(asked.length > 0 ? { required: asked } : {}), properties }
}

/**
 * A schema as the document shows it: named ones as references, our own keywords left out.
 * @param adapt changes each schema in it before it is shown
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
