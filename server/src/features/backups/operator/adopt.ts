/** Registers backups that exist in the store but not in the database, for example after the database was lost. */

import Type from 'typebox'
import { Compile } from 'typebox/compile'
import { lockUsableRoot } from '../../../platform/crypto/index.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import { findTenant } from '../../tenants/index.ts'
import { enterPurged, findPurged, scheduleErasureCheck } from '../erase/erase.store.ts'
import { noteName, readNotes } from '../erase/purge-notes.ts'
import { BACKUP_TYPES } from '../file/format.ts'
import type { BackupKeys } from '../file/identity.ts'
import { entryIdOf, fileName, sidecarName } from '../file/names.ts'
import { readSigned } from '../file/signed-text.ts'
import { knownOf } from '../schedule/schedule.store.ts'
import { NotStoredError, type Store } from '../stores/store.ts'
import { insertAdopted, ownInstallation } from './commands.store.ts'

const Entry = Compile(
  Type.Object({
    backup_id: Type.String(),
    installation: Type.String(),
    type: Type.Enum([...BACKUP_TYPES]),
    tenant_id: Type.Union([Type.Integer(), Type.Null()]),
    created_at: Type.String(),
    size_bytes: Type.Integer(),
    sha256: Type.String(),
    records: Type.Integer(),
    schema_version: Type.Integer(),
    rewritten_at: Type.Optional(Type.String()),
    forgotten: Type.Optional(Type.Array(Type.Integer())),
    keys: Type.Optional(Type.Object({ root_key: Type.Optional(Type.String()) })),
  }),
)

export interface Adoption {
  adopted: string[]
  /** The objects that were not registered, each with the reason. */
  refused: { name: string; reason: string }[]
}

export interface AdoptDeps {
  db: Scopes
  store: Store
  backupKeys: BackupKeys
}

export async function adoptStoredBackups(deps: AdoptDeps): Promise<Adoption> {
  const { db, store } = deps
  const outcome: Adoption = { adopted: [], refused: [] }
  await adoptNotes(deps, outcome)
  const found = (await store.list()).flatMap(({ name }) => entryIdOf(name) ?? [])
  const known = await db.acrossTenants((tx) => knownOf(tx, found), 'read')
  for (const id of found.filter((id) => !known.has(id))) {
    const reason = await adoptOne(deps, id)
    if (reason === undefined) outcome.adopted.push(id)
    else outcome.refused.push({ name: sidecarName(id), reason })
  }
  return outcome
}

/** Records purged tenants from the notes in the store. Reports invalid notes, and notes whose tenant still exists. */
async function adoptNotes(
  { db, store, backupKeys }: AdoptDeps,
  { refused }: Adoption,
): Promise<void> {
  const { notes, disbelieved } = await readNotes(store, backupKeys)
  refused.push(...disbelieved)
  const here = await db.acrossTenants(async (tx) => {
    await scheduleErasureCheck(tx)
    return enterPurged(tx, notes)
  })
  for (const { tenant_id } of here)
    refused.push({
      name: noteName(tenant_id),
      reason: `tenant ${tenant_id} was purged but exists again. Delete the tenant`,
    })
}

/** Registers a backup from its list entry. Returns undefined, or the reason if it could not be registered. */
export async function adoptOne(
  { db, store, backupKeys }: AdoptDeps,
  id: string,
): Promise<string | undefined> {
  const entry = await entryOf(store, backupKeys, sidecarName(id))
  if (typeof entry === 'string') return entry
  if (entry.backup_id !== id) return 'the list entry belongs to another backup'
  if (entry.installation !== (await db.acrossTenants(ownInstallation, 'read')))
    return 'the backup belongs to another installation. Restore its file into an empty database'
  const fault = await faultOfFile(store, entry)
  if (fault !== undefined) return fault
  const locked_until = await store.lockedUntil(sidecarName(id))
  return db.acrossTenants(async (tx) => {
    const { backup_id: _, installation: __, root_key, ...backup } = { ...entry, locked_until }
    // Locks the root key. Otherwise retention could destroy it as unneeded before this row is committed.
    if (root_key !== undefined && !(await lockUsableRoot(tx, root_key)))
      return `its root key ${root_key} was destroyed when no registered backup needed it, so the file can no longer be decrypted`
    if (backup.tenant_id !== null && !(await findTenant(tx, backup.tenant_id)))
      return (await findPurged(tx, backup.tenant_id))
        ? `its tenant ${backup.tenant_id} was purged. The service deletes the backup automatically`
        : `its tenant ${backup.tenant_id} does not exist in this database`
    await insertAdopted(tx, { id, ...backup })
    return undefined
  })
}

/** Returns the contents of a list entry, or an error message if the entry is invalid. */
async function entryOf(store: Store, backupKeys: BackupKeys, name: string) {
  const entry = await readSigned(store, backupKeys, name)
  if (typeof entry === 'string') return entry
  if (!Entry.Check(entry)) return 'the list entry is invalid'
  const { backup_id, installation, type, tenant_id, created_at } = entry
  const { size_bytes, sha256, records, schema_version } = entry
  const rewriting = { rewritten_at: entry.rewritten_at ?? null, forgotten: entry.forgotten ?? [] }
  const made = { size_bytes, sha256, records, schema_version }
  const root_key = entry.keys?.root_key
  return { backup_id, installation, type, tenant_id, created_at, root_key, ...made, ...rewriting }
}

async function faultOfFile(
  store: Store,
  entry: { backup_id: string; rewritten_at: string | null; size_bytes: number },
): Promise<string | undefined> {
  const { backup_id, rewritten_at, size_bytes } = entry
  try {
    const size = await store.size(fileName(backup_id, rewritten_at))
    return size === size_bytes ? undefined : `its file has ${size} bytes instead of ${size_bytes}`
  } catch (error) {
    if (error instanceof NotStoredError) return error.message
    throw error
  }
}
