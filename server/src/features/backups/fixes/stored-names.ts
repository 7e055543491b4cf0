import type { Time } from '../../../lib/time.ts'
import { within } from '../../../lib/within.ts'
import type { Store, StoredObject } from '../stores/store.ts'

/**
 * The time limit for the list. It leaves time for the other work of the check, which must finish within ten seconds.
 */
const LIST_WITHIN_MS = 7_000

/** Lists the objects in the store. @throws Error if the store does not respond in time */
export async function listed(store: Store, clock: Time): Promise<StoredObject[]> {
  const listing = store.list()
  if (!(await within(clock, LIST_WITHIN_MS, listing)))
    throw new Error(`the backup store did not list its files within ${LIST_WITHIN_MS / 1000} s`)
  return listing
}
