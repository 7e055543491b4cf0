/** A cache whose values stay valid for a short time. Concurrent callers share one load. */
import { LRUCache } from 'lru-cache'
import type { Clock } from './clock.ts'

export interface Recent<T> {
  /** Returns the cached value for the key, or loads it. A failed load is not cached. */
  get(key: string, load: () => Promise<T>): Promise<T>
  /** Drops all cached values, and ignores the results of loads that are still running. */
  forget(): void
}

export function recent<T>(clock: Clock, forMs: number, max: number): Recent<T> {
  const cached = new LRUCache<string, { since: number; answer: Promise<T> }>({ max })
  return {
    get(key, load) {
      const known = cached.get(key)
      const age = known ? clock.now() - known.since : forMs
      if (known && age >= 0 && age < forMs) return known.answer
      const answer = load()
      const entry = { since: clock.now(), answer }
      cached.set(key, entry)
      answer.catch(() => cached.get(key) === entry && cached.delete(key))
      return answer
    },
    forget: () => cached.clear(),
  }
}
