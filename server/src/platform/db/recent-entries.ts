/** The latest journal entries that this node acknowledged, to check a new server after a failover (decision 0038). */
import { isSameServer, type ServerIdentity } from './first-message.ts'

/** The columns that identify an entry. A server that has lost entries assigns their ids again. */
export interface RecentEntry {
  id: number
  created_at: string
  tenant_id: number | null
  action: string
  resource_type: string
  resource_id: string | null
}

export const MAX_RECENT = 100

export interface RecentEntries {
  /** Adds entries whose commit the server acknowledged. The oldest entries are dropped to make room. */
  add(server: ServerIdentity, entries: readonly RecentEntry[]): void
  /** Returns the entries that another server has acknowledged, and that this server may not contain. */
  acknowledgedElsewhere(server: ServerIdentity): readonly RecentEntry[]
  /** Records which of the searched entries the server contains, and removes the missing entries. */
  settle(
    server: ServerIdentity,
    searched: readonly RecentEntry[],
    missing: readonly RecentEntry[],
  ): void
}

export function recentEntries(): RecentEntries {
  let kept: { entry: RecentEntry; server: ServerIdentity }[] = []
  return {
    add(server, entries) {
      if (entries.length === 0) return
      const added = entries.slice(-MAX_RECENT).map((entry) => ({ entry, server }))
      kept = [...kept, ...added].slice(-MAX_RECENT)
    },
    acknowledgedElsewhere: (server) =>
      kept.filter((one) => !isSameServer(one.server, server)).map(({ entry }) => entry),
    settle(server, searched, missing) {
      const [found, lost] = [new Set(searched), new Set(missing)]
      kept = kept
        .filter(({ entry }) => !lost.has(entry))
        .map((one) => (found.has(one.entry) ? { ...one, server } : one))
    },
  }
}
