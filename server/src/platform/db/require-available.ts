/** Refuses writes to tenants in maintenance mode. */
import { Problem } from '../../lib/problems.ts'
import type { Time } from '../../lib/time.ts'
import type { Logger } from '../observe/log.ts'
import type { Changes } from './changes.ts'
import { withDeadline } from './deadline.ts'
import { HEARTBEAT_MS, TRUST_MS } from './heartbeat.ts'
import { logFailures } from './log-failures.ts'
import { coversTenant } from './maintenance.ts'

/** The Retry-After of the 503 response, in seconds. Most restores of one tenant finish within this time. */
const RETRY_AFTER_S = 2

/**
 * Returns undefined if the node knows the answer, otherwise a promise. @param tenantId null if not known yet @throws
 * Problem 503 while the tenant, or every tenant, is in maintenance mode
 */
export type RequireAvailable = (tenantId: number | null) => Promise<void> | undefined

/**
 * Returns the check, which uses the latest heartbeat. While the node may have missed changes, the check queries the
 * database once per heartbeat interval, and so follows maintenance mode as fast as other nodes.
 */
export function openGate(
  changes: Pick<Changes, 'isInMaintenance' | 'trusted'>,
  findMaintenance: () => Promise<ReadonlySet<number>>,
  { log, clock }: { log: Logger; clock: Pick<Time, 'monotonic'> },
): RequireAvailable {
  const logFailure = logFailures('maintenance mode check', log)
  let failure: unknown
  let asked: { at: number; found: ReturnType<typeof find> } | undefined

  async function find(): Promise<ReadonlySet<number> | undefined> {
    try {
      const found = await withDeadline(findMaintenance(), TRUST_MS)
      failure = undefined
      return found
    } catch (error) {
      logFailure(error, failure)
      failure = error
      return undefined
    }
  }

  function ask(): ReturnType<typeof find> {
    const now = clock.monotonic()
    if (!asked || now - asked.at > HEARTBEAT_MS) asked = { at: now, found: find() }
    return asked.found
  }

  return (tenantId) => {
    if (changes.trusted()) return refuse(changes.isInMaintenance(tenantId))
    // Uses the latest heartbeat if the query has failed. The caller's own query then fails too, or waits.
    return ask().then((found) =>
      refuse(found ? coversTenant(found, tenantId) : changes.isInMaintenance(tenantId)),
    )
  }
}

function refuse(isInMaintenance: boolean): undefined {
  if (isInMaintenance) throw new Problem('restoring', { retryAfter: RETRY_AFTER_S })
}
