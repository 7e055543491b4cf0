/** Enters what the store holds and the database does not know, as after its loss. */
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import type { Scopes } from '../../../platform/db/index.ts'
import { findTenant } from '../../tenants/index.ts'
import { fileName, sidecarName } from '../create/create.ts'
import { BACKUP_TYPES } from '../file/format.ts'
import type { Keeper } from '../file/identity.ts'
import { knownOf } from '../schedule/schedule.store.ts'
import { NotStoredError, type Store } from '../stores/store.ts'
import { insertAdopted } from './commands.store.ts'

/** What is read of a list entry at the most: one is a few hundred bytes. */
const MAX_ENTRY = 1024 * 1024

const ENTRY = /^([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})[.]json$/

const Entry = Compile(
  Type.Object({
    backup_id: Type.String(),
    type: Type.Enum([...BACKUP_TYPES]),
    tenant_id: Type.Union([Type.Integer(), Type.Null()]),
    created_at: Type.String(),
    size_bytes: Type.Integer(),
    sha256: Type.String(),
    records: Type.Integer(),
    schema_version: Type.Integer(),
  }),
)

export interface Adoption {
  adopted: string[]
  /** What is not entered, and why. */
  refused: { name: string; reason: string }[]
}

export interface AdoptDeps {
  db: Scopes
  store: Store
  keeper: Keeper
}

export async function adopt({ db, store, keeper }: AdoptDeps): Promise<Adoption> {
  const outcome: Adoption = { adopted: [], refused: [] }
  const found = (await store.list()).flatMap(({ name }) => ENTRY.exec(name)?.[1] ?? [])
  const known = await db.acrossTenants((tx) => knownOf(tx, found), 'read')
  for (const id of found.filter((id) => !known.has(id))) {
    const name = sidecarName(id)
    const told = entryOf(keeper, await textOf(store, name))
    const reason =
      typeof told === 'string'
        ? told
        : told.backup_id !== id
          ? 'it is of another backup'
          : ((await faultOfFile(store, id, told.size_bytes)) ??
            (await db.acrossTenants(async (tx) => {
              const { backup_id: _, ...backup } = told
              if (backup.tenant_id !== null && !(await findTenant(tx, backup.tenant_id)))
                return `its tenant ${backup.tenant_id} is not here`
              await insertAdopted(tx, { id, ...backup })
              return undefined
            })))
    if (reason === undefined) outcome.adopted.push(id)
    else outcome.refused.push({ name, reason })
  }
  return outcome
}

/** What a list entry tells; a sentence where it was not written with this root key. */
function entryOf(keeper: Keeper, text: string) {
  let entry: unknown
  try {
    entry = JSON.parse(text)
  } catch {
    return 'it is no list entry'
  }
  const { mac, ...told } = Object(entry) as Record<string, unknown>
  if (typeof mac !== 'string' || !keeper.isSigned(Buffer.from(JSON.stringify(told)), mac))
    return 'it was not written with this root key'
  if (!Entry.Check(told)) return 'it is no list entry'
  const { backup_id, type, tenant_id, created_at, size_bytes, sha256, records, schema_version } =
    told
  return { backup_id, type, tenant_id, created_at, size_bytes, sha256, records, schema_version }
}

async function faultOfFile(store: Store, id: string, bytes: number): Promise<string | undefined> {
  try {
    const size = await store.size(fileName(id))
    return size === bytes ? undefined : `its file has ${size} bytes, not ${bytes}`
  } catch (error) {
    if (error instanceof NotStoredError) return error.message
    throw error
  }
}

async function textOf(store: Store, name: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of store.read(name)) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > MAX_ENTRY) return ''
  }
  return Buffer.concat(chunks).toString()
}
