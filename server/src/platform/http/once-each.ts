/** Compiles schemas once in a process. */

/**
 * Returns a compiler that answers schemas of the same content with what it made of the first. Most
 * refusals of all operations share one schema, and a process may open the service more than once.
 */
export function onceEach<T>(compile: (schema: object) => T): (schema: object) => T {
  const compiled = new Map<string, T>()
  return (schema) => {
    const text = JSON.stringify(schema)
    const known = compiled.get(text)
    if (known !== undefined) return known
    const made = compile(schema)
    compiled.set(text, made)
    return made
  }
}
