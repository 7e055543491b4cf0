/** Refuses what would be written into what is being restored. */
import { Problem } from '../../lib/problems.ts'
import type { Time } from '../../lib/time.ts'
import type { Logger } from '../observe/log.ts'
import { type Changes, HEARTBEAT_MS, isAmong, TRUST_MS } from './changes.ts'
import { withDeadline } from './deadline.ts'
import { logFailures } from './log-failures.ts'

/** When whoever is refused may try again, in seconds: most restores of a clinic are over by then. */
const RETRY_AFTER_S = 2

/**
 * @param tenantId null where it is not known yet
 * @throws Problem 503 while a restore has closed the service for the tenant, or for all. What is not returned as a
 * promise is known at once.
 */
export type RequireOpen = (tenantId: number | null) => Promise<void> | undefined

/**
 * Knows it from what the node has heard. While it may have missed something the database is asked, once for all who
 * come within a sign of life: a node without its listener is closed as the others are, and opens with them.
 */
export function openGate(
  changes: Pick<Changes, 'isClosed' | 'trusted'>,
  findClosed: () => Promise<ReadonlySet<number>>,
  { log, clock }: { log: Logger; clock: Pick<Time, 'monotonic'> },
): RequireOpen {
  const tell = logFailures('asking for whom the service is closed', log)
  let failure: unknown
  let asked: { at: number; closed: ReturnType<typeof find> } | undefined

  async function find(): Promise<ReadonlySet<number> | undefined> {
    try {
      const closed = await withDeadline(findClosed(), TRUST_MS)
      failure = undefined
      return closed
    } catch (error) {
      tell(error, failure)
      failure = error
      return undefined
    }
  }

  function ask(): ReturnType<typeof find> {
    const now = clock.monotonic()
    if (!asked || now - asked.at > HEARTBEAT_MS) asked = { at: now, closed: find() }
    return asked.closed
  }

  return (tenantId) => {
    if (changes.trusted()) return refuse(changes.isClosed(tenantId))
    // Without an answer what was heard last counts: what is asked for next fails by itself, or waits.
    return ask().then((closed) =>
      refuse(closed ? isAmong(closed, tenantId) : changes.isClosed(tenantId)),
    )
  }
}

function refuse(isClosed: boolean): undefined {
  if (isClosed) throw new Problem('restoring', { retryAfter: RETRY_AFTER_S })
}
