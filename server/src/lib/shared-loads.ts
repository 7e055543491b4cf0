/** Shares running loads by key. Callers of a voided load get its result, but the result is not stored. */

export interface Flights<K, V> {
  /** Joins the running load of the key, or starts one. `land` receives the result unless the load was voided. */
  join(key: K, load: () => Promise<V>, land: (value: V) => void): Promise<V>
  /** Voids the loads of matching keys. Later callers start new loads. */
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
