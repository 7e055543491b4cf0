/** Compares the shapes of two JSON values: fields and types, without their values. */
import type { TSchema } from 'typebox'

interface Keywords {
  anyOf?: TSchema[]
  items?: TSchema
  properties?: Record<string, TSchema>
  required?: string[]
}

/**
 * Returns the paths at which `one` and `other` differ in shape. Null matches every type, and an empty list matches
 * every list. A field that the schema makes optional may be present in only one of them.
 */
export function differences(schema: TSchema, one: unknown, other: unknown, at = ''): string[] {
  if (one === null || other === null) return []
  const { anyOf, items, properties, required = [] } = schema as Keywords
  if (anyOf) return differences(anyOf[0] as TSchema, one, other, at)
  if (Array.isArray(one) && Array.isArray(other))
    return items && one.length > 0 && other.length > 0
      ? differences(items, one[0], other[0], `${at}[]`)
      : []
  if (typeof one !== typeof other || Array.isArray(one) !== Array.isArray(other)) return [at]
  if (typeof one !== 'object' || !properties) return []
  const [ones, others] = [one, other] as Record<string, unknown>[]
  return Object.entries(properties).flatMap(([name, field]) => {
    const path = `${at}.${name}`
    const isInBoth = ones && others && name in ones && name in others
    if (isInBoth) return differences(field, ones[name], others[name], path)
    return required.includes(name) ? [path] : []
  })
}
