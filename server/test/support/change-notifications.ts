/** Change notifications that a test controls. */
import type { Changes, Topic } from '../../src/platform/db/index.ts'

export interface Hearing {
  changes: Changes
  /** Whether the node can be sure to receive all notifications. */
  trusted: boolean
  /** Reports that the node may have missed notifications. */
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
      acknowledge: () => undefined,
      subscribe(listener) {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
      invalidate: tell,
      notify: (topic) => tell([topic]),
      trusted: () => made.trusted,
      silentMs: () => 0,
      server: () => undefined,
      checkServers: () => undefined,
      recheck: async () => undefined,
      isInMaintenance: () => false,
      stop: async () => undefined,
    },
  }
  return made
}
