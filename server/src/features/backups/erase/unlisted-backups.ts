/** Finds backups in the store that the database does not know or lists as failed. */

import type { Scopes } from '../../../platform/db/index.ts'
import type { BackupKeys } from '../file/identity.ts'
import { backupIdOf, entryIdOf, sidecarName } from '../file/names.ts'
import { readSigned } from '../file/signed-text.ts'
import { knownOf } from '../schedule/schedule.store.ts'
import { NotStoredError, type Store } from '../stores/store.ts'

export interface UnlistedBackup {
  id: string
  /** The contents of the list entry, or a message that explains why the contents cannot be trusted. */
  entry: Record<string, unknown> | string
}

const NO_ENTRY =
  'its contents are unknown, because it has no list entry and is not registered. Delete its file from the store'

interface UnknownDeps {
  db: Scopes
  store: Store
  backupKeys: BackupKeys
}

export async function unknownIn(deps: UnknownDeps): Promise<UnlistedBackup[]> {
  const names = new Map<string, string[]>()
  for (const { name } of await deps.store.list()) {
    const id = entryIdOf(name) ?? backupIdOf(name)
    if (id !== undefined) names.set(id, [...(names.get(id) ?? []), name])
  }
  const known = await deps.db.acrossTenants(
    (tx) => knownOf(tx, [...names.keys()], { failed: false }),
    'read',
  )
  const unknown: UnlistedBackup[] = []
  for (const [id, own] of names)
    if (!known.has(id))
      try {
        unknown.push({ id, entry: await readEntry(deps, id, own) })
      } catch (error) {
        // The backup was deleted from the store in the meantime.
        if (!(error instanceof NotStoredError)) throw error
      }
  return unknown
}

async function readEntry(
  { store, backupKeys }: UnknownDeps,
  id: string,
  names: readonly string[],
): Promise<UnlistedBackup['entry']> {
  if (names.includes(sidecarName(id))) return readSigned(store, backupKeys, sidecarName(id))
  for (const name of names) await store.size(name)
  return NO_ENTRY
}
