/** Answers that are good for a moment: loaded once for all who ask meanwhile. */
import { LRUCache } from 'lru-cache'
import type { Clock } from './clock.ts'

export interface Recent<T> {
  /** The answer for the key, loaded when there is none that is recent. What fails is loaded anew. */
  get(key: string, load: () => Promise<T>): Promise<T>
  /** Drops all answers, those that are being loaded as well. */
  forget(): void
}

export function recent<T>(clock: Clock, forMs: number, max: number): Recent<T> {
  const held = new LRUCache<string, { since: number; answer: Promise<T> }>({ max })
  return {
    get(key, load) {
      const known = held.get(key)
      const age = known ? clock.now() - known.since : forMs
      if (known && age >= 0 && age < forMs) return known.answer
      const answer = load()
      const entry = { since: clock.now(), answer }
      held.set(key, entry)
      answer.catch(() => held.get(key) === entry && held.delete(key))
      return answer
    },
    forget: () => held.clear(),
  }
}
