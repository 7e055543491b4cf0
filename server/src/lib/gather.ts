/** Combines lookups that are made at about the same time. Many lookups then share the cost of one transaction. */
import { setImmediate as nextTurn } from 'node:timers/promises'

export interface GatherOptions {
  /** The maximum number of concurrent lookups. Above one, a lookup that hangs does not block the others. */
  atOnce: number
  maxKeys: number
  /** Returns whether a single key may have caused the failure. If true, each key is looked up separately. */
  mayBeOfOne(error: unknown): boolean
}

/** Returns a function that looks up one key together with others. It resolves to undefined if the key was not found. */
export function gather<K, V>(
  ask: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>,
  { atOnce, maxKeys, mayBeOfOne }: GatherOptions,
): (key: K) => Promise<V | undefined> {
  const waiting = new Map<K, PromiseWithResolvers<V | undefined>>()
  let running = 0

  async function settle(keys: readonly K[], asked: readonly PromiseWithResolvers<V | undefined>[]) {
    try {
      const found = await ask(keys)
      for (const [place, key] of keys.entries()) asked[place]?.resolve(found.get(key))
    } catch (error) {
      if (keys.length === 1 || !mayBeOfOne(error)) for (const { reject } of asked) reject(error)
      else
        for (const [place, key] of keys.entries())
          await settle([key], asked.slice(place, place + 1))
    }
  }

  async function run(): Promise<void> {
    running += 1
    // Waits one turn, so that keys of the same turn share a lookup.
    await nextTurn()
    while (waiting.size > 0) {
      const batch = [...waiting.entries()].slice(0, maxKeys)
      for (const [key] of batch) waiting.delete(key)
      await settle(
        batch.map(([key]) => key),
        batch.map(([, asked]) => asked),
      )
    }
    running -= 1
  }

  return (key) => {
    const known = waiting.get(key)
    if (known) return known.promise
    const asked = Promise.withResolvers<V | undefined>()
    waiting.set(key, asked)
    if (running < atOnce) void run()
    return asked.promise
  }
}
