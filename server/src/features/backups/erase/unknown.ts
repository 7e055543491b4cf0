/** Backups that lie in the store, and that the database does not know or count on. */
import type { Scopes } from '../../../platform/db/index.ts'
import { entryIdOf } from '../commands/adopt.ts'
import { sidecarName } from '../create/create.ts'
import type { Keeper } from '../file/identity.ts'
import { readSigned } from '../file/signed.ts'
import { knownOf } from '../schedule/schedule.store.ts'
import { NotStoredError, type Store } from '../stores/store.ts'

export interface Unknown {
  id: string
  /** What its list entry tells; a sentence where that is not believed. */
  told: Record<string, unknown> | string
}

/** Those with a list entry. */
export async function unknownIn({
  db,
  store,
  keeper,
}: {
  db: Scopes
  store: Store
  keeper: Keeper
}): Promise<Unknown[]> {
  const ids = (await store.list()).flatMap(({ name }) => entryIdOf(name) ?? [])
  const known = await db.acrossTenants((tx) => knownOf(tx, ids, { failed: false }), 'read')
  const unknown: Unknown[] = []
  for (const id of ids.filter((one) => !known.has(one)))
    try {
      unknown.push({ id, told: await readSigned(store, keeper, sidecarName(id)) })
    } catch (error) {
      // Deleted just then.
      if (!(error instanceof NotStoredError)) throw error
    }
  return unknown
}
