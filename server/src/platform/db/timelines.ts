/**
 * Refuses a former primary for 30 s after a promotion. Later, an operator is assumed to have restored it on purpose.
 */
import type { Time } from '../../lib/time.ts'
import { ServerRefused } from './failures.ts'
import type { ServerIdentity } from './first-message.ts'

/** How long a server on a lower timeline is refused. Within this time, a former primary is stopped or rewound. */
export const LOWER_TIMELINE_MS = 30_000
/** How long the refused server must be absent until its 30 s start again. */
const FORGOTTEN_MS = 10_000

export interface Timelines {
  /** Checks the timeline. @throws ServerRefused for 30 s after a server of the cluster on a lower timeline appears */
  require(server: ServerIdentity): void
  use(server: ServerIdentity): void
}

const numberOf = ({ timeline }: ServerIdentity) => Number.parseInt(timeline, 16)

export function watchTimelines(clock: Pick<Time, 'monotonic'>): Timelines {
  let last: ServerIdentity | undefined
  /** When the refused server was first and last seen. */
  let met: { first: number; last: number } | undefined
  return {
    require(server) {
      if (last?.systemId !== server.systemId || numberOf(server) >= numberOf(last)) return
      const now = clock.monotonic()
      const first = met && now - met.last < FORGOTTEN_MS ? met.first : now
      met = { first, last: now }
      if (now - first < LOWER_TIMELINE_MS)
        throw new ServerRefused(
          `The database server is on timeline ${server.timeline}, behind ${last.timeline}. Another server was promoted since.`,
        )
    },
    use(server) {
      last = server
      met = undefined
    },
  }
}
