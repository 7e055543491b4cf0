/** Compiles each distinct schema at most once per process, on first use. */

/**
 * Returns a lazy compiler. Its result compiles the schema on the first call, and schemas with the same content share
 * it. Most error responses have the same schema, and one process may open the service more than once. Compiling all
 * schemas at startup would take a third of the startup time, and commands never use most of them. Schemas are compared
 * as JSON text, so a schema must not contain values that JSON omits.
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
