/** Questions that come at about the same time are asked together: what one transaction costs, many share. */
import { setImmediate as nextTurn } from 'node:timers/promises'

export interface GatherOptions {
  /** Questions under way at once: one that hangs keeps nobody from the others. */
  atOnce: number
  /** Keys that are asked for together at the most. */
  maxKeys: number
  /** Whether the failure may be of one key alone; each is then asked for by itself. */
  mayBeOfOne(error: unknown): boolean
}

/**
 * @param ask answers many keys; those of which there is nothing are left out
 * @returns asks for one key, with what else is asked for meanwhile. Undefined where there is nothing. Throws what
 *   `ask` throws
 */
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
    // What is asked for in the same turn of the event loop goes together.
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
