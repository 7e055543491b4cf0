/** Compiles schemas when they are used first, and once in a process. */

/**
 * Returns a compiler that puts the work off: what it returns compiles at its first call. Schemas of the
 * same content share the result, as most refusals of all operations have one schema, and a process may
 * open the service more than once. A start would otherwise spend a third of its time on schemas that a
 * command never uses. The content is compared as JSON text, so a schema holds nothing that JSON leaves out.
 */
export function onceEach<T>(compile: (schema: object) => T): (schema: object) => () => T {
  const known = new Map<string, () => T>()
  return (schema) => {
    const text = JSON.stringify(schema)
    const shared = known.get(text) ?? lazily(() => compile(schema))
    known.set(text, shared)
    return shared
  }
}

function lazily<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
