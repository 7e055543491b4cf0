/**
 * Limits guesses that run in parallel on this node. A running guess counts as a failure until it ends. Parallel guesses
 * therefore have no advantage over sequential ones.
 */
import type { GuessCount, GuessCounts } from './counts.ts'

interface Place {
  /**
   * `present` is the number of guesses that are checking the count or waiting. `underWay` is the number of guesses that
   * are running.
   */
  present: number
  underWay: number
  /** Increases with every failure. A count that was read before the increase is outdated. */
  failed: number
  waiting: (() => void)[]
}

export type Admit = <S extends { counters: readonly GuessCounts[] }, T>(
  counts: readonly GuessCount[],
  readCounts: () => Promise<S>,
  work: (read: S, wait: number) => Promise<T>,
) => Promise<T>

/** Creates the admission of one node. @param keyOf returns the key of a count as text */
export function openAdmission(keyOf: (count: GuessCount) => string): Admit {
  const places = new Map<string, Place>()

  function enter(key: string): Place {
    const place = places.get(key) ?? { present: 0, underWay: 0, failed: 0, waiting: [] }
    place.present += 1
    places.set(key, place)
    return place
  }

  function leave(key: string): void {
    const place = places.get(key)
    if (!place) return
    place.present -= 1
    if (place.present === 0) places.delete(key)
  }

  async function make<T>(own: readonly Place[], work: () => Promise<T>): Promise<T> {
    for (const place of own) place.underWay += 1
    try {
      return await work()
    } catch (error) {
      for (const place of own) place.failed += 1
      throw error
    } finally {
      for (const place of own) {
        place.underWay -= 1
        for (const wake of place.waiting.splice(0)) wake()
      }
    }
  }

  return async (counts, readCounts, work) => {
    const keys = counts.map(keyOf)
    const own = keys.map(enter)
    try {
      for (;;) {
        const failed = own.map((place) => place.failed)
        const read = await readCounts()
        const wait = Math.max(...read.counters.map((counter) => counter.wait))
        if (wait > 0) return await work(read, wait)
        if (own.some((place, index) => place.failed !== failed[index])) continue
        const busy = own.find(({ underWay }, index) => {
          const { rule } = counts[index] as GuessCount
          const failures = (read.counters[index]?.failures ?? 0) + underWay
          return underWay > 0 && (rule.oneByOne || failures >= rule.free)
        })
        if (!busy) return await make(own, () => work(read, 0))
        await new Promise<void>((resolve) => busy.waiting.push(resolve))
      }
    } finally {
      for (const key of keys) leave(key)
    }
  }
}
