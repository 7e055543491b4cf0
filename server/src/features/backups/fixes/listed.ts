import type { Time } from '../../../lib/time.ts'
import { within } from '../../../lib/within.ts'
import type { Store, StoredObject } from '../stores/store.ts'

/** A detector has ten seconds in all. */
const LIST_WITHIN_MS = 7_000

/** What the store holds. @throws Error where it does not say so in time */
export async function listed(store: Store, clock: Time): Promise<StoredObject[]> {
  const listing = store.list()
  if (!(await within(clock, LIST_WITHIN_MS, listing)))
    throw new Error(`the store of backups has not listed its files in ${LIST_WITHIN_MS / 1000} s`)
  return listing
}
