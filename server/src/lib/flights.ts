/** Loads under way, one a key. One that is voided still answers those who wait, and brings nothing in. */

export interface Flights<K, V> {
  /** Joins the load of the key, or begins it. `land` gets what it brings, unless it is voided by then. */
  join(key: K, load: () => Promise<V>, land: (value: V) => void): Promise<V>
  /** Voids the loads of such keys: whoever asks next begins anew. */
  voidIf(concerns: (key: K) => boolean): void
}

export function flights<K, V>(): Flights<K, V> {
  const flying = new Map<K, Promise<V>>()
  return {
    join(key, load, land) {
      const begun = flying.get(key)
      if (begun !== undefined) return begun
      const flight = load()
        .then((value) => {
          if (flying.get(key) === flight) land(value)
          return value
        })
        .finally(() => {
          if (flying.get(key) === flight) flying.delete(key)
        })
      flying.set(key, flight)
      return flight
    },
    voidIf(concerns) {
      for (const key of flying.keys()) if (concerns(key)) flying.delete(key)
    },
  }
}
