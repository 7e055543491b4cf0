/** Refuses what would be written into what is being restored. */
import { Problem } from '../../lib/problems.ts'
import type { Changes } from './changes.ts'

/** When whoever is refused may try again, in seconds: most restores of a clinic are over by then. */
const RETRY_AFTER_S = 2

/**
 * @param tenantId null where it is not known yet
 * @throws Problem 503 while a restore has closed the service for the tenant, or for all
 */
export function requireOpen(
  { isClosed }: Pick<Changes, 'isClosed'>,
  tenantId: number | null,
): undefined {
  if (isClosed(tenantId)) throw new Problem('restoring', { retryAfter: RETRY_AFTER_S })
}
