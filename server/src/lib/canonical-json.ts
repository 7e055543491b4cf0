/** Canonical JSON (RFC 8785), of which every implementation computes the same hash. */

/**
 * Returns a JSON value as canonical text: without blanks, with the members of objects sorted by UTF-16 code units.
 * @throws TypeError for a value that JSON cannot express, such as a lone surrogate or a number that is not finite
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const object = value as Record<string, unknown>
    const names = Object.keys(object)
    if (names.length > 1) names.sort()
    let members = ''
    for (const name of names) {
      const member = object[name]
      if (member === undefined) continue
      if (members !== '') members += ','
      members += `${scalarJson(name)}:${canonicalJson(member)}`
    }
    return `{${members}}`
  }
  return scalarJson(value)
}

function scalarJson(value: unknown): string {
  const isValid =
    value === null ||
    typeof value === 'boolean' ||
    (typeof value === 'number' && Number.isFinite(value)) ||
    (typeof value === 'string' && value.isWellFormed())
  if (!isValid) throw new TypeError('the value has no canonical JSON')
  return JSON.stringify(value)
}
