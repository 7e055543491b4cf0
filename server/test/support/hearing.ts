/** What a node hears of changes, in the hands of the test. */
import type { Changes, Topic } from '../../src/platform/db/index.ts'

export interface Hearing {
  changes: Changes
  /** Whether changes are sure to be heard. */
  trusted: boolean
  /** Says that anything may have been missed. */
  missed(): void
}

export function hearing(): Hearing {
  const listeners = new Set<(topic: Topic | null) => void>()
  const tell = (topics: Iterable<Topic | null>) => {
    for (const topic of topics) for (const listener of listeners) listener(topic)
  }
  const made: Hearing = {
    trusted: true,
    missed: () => tell([null]),
    changes: {
      subscribe(listener) {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
      invalidate: tell,
      notify: (topic) => tell([topic]),
      trusted: () => made.trusted,
      isClosed: () => false,
      stop: async () => undefined,
    },
  }
  return made
}
