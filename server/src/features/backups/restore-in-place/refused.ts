/** What is not restored, and why. */

import type { DifferingSafeguards } from '../../../platform/db/fixes/index.ts'
import type { Connection } from '../../../platform/db/index.ts'

/** In a sentence for whoever asked for it. Nothing was touched. */
export class RefusedError extends Error {}

/** What a sentence can name; the fixes of self-healing name all. */
const MAX_NAMED = 5

/**
 * A disabled trigger checks no reference, and a grant too many shows what a tenant's role is not to see: what is
 * written past them is nobody's to trust.
 * @param client in a transaction
 * @throws RefusedError where they are not those that a fresh migration makes
 */
export async function requireSafeguards(
  client: Connection,
  differing: DifferingSafeguards,
): Promise<void> {
  const subjects = await differing(client)
  if (subjects.length === 0) return
  const more = subjects.length > MAX_NAMED ? ` and ${subjects.length - MAX_NAMED} more` : ''
  throw new RefusedError(
    `the database is not guarded as its schema says (${subjects.slice(0, MAX_NAMED).join(', ')}${more}); put that right first, as the runbook schema-drift.md says`,
  )
}
