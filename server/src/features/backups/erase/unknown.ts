/** Backups that lie in the store, and that the database does not know or count on. */

import type { Scopes } from '../../../platform/db/index.ts'
import type { Keeper } from '../file/identity.ts'
import { entryIdOf, idOf, sidecarName } from '../file/names.ts'
import { readSigned } from '../file/signed.ts'
import { knownOf } from '../schedule/schedule.store.ts'
import { NotStoredError, type Store } from '../stores/store.ts'

export interface Unknown {
  id: string
  /** What its list entry tells; a sentence where that is not believed. */
  told: Record<string, unknown> | string
}

const UNTOLD =
  'neither the database nor a list entry tells what it holds; delete its file from the store'

interface UnknownDeps {
  db: Scopes
  store: Store
  keeper: Keeper
}

export async function unknownIn(deps: UnknownDeps): Promise<Unknown[]> {
  const names = new Map<string, string[]>()
  for (const { name } of await deps.store.list()) {
    const id = entryIdOf(name) ?? idOf(name)
    if (id !== undefined) names.set(id, [...(names.get(id) ?? []), name])
  }
  const known = await deps.db.acrossTenants(
    (tx) => knownOf(tx, [...names.keys()], { failed: false }),
    'read',
  )
  const unknown: Unknown[] = []
  for (const [id, own] of names)
    if (!known.has(id))
      try {
        unknown.push({ id, told: await toldOf(deps, id, own) })
      } catch (error) {
        // Deleted just then.
        if (!(error instanceof NotStoredError)) throw error
      }
  return unknown
}

async function toldOf(
  { store, keeper }: UnknownDeps,
  id: string,
  names: readonly string[],
): Promise<Unknown['told']> {
  if (names.includes(sidecarName(id))) return readSigned(store, keeper, sidecarName(id))
  for (const name of names) await store.size(name)
  return UNTOLD
}
