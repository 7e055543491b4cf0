/** Compiles each distinct schema at most once per process, on first use. */

/**
 * Returns a lazy compiler, whose result equal schemas share. Compiling all at startup would take a third of its time.
 * Schemas are compared as JSON text, so they must not contain values that JSON omits.
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
