import { sql } from 'kysely'
import type { TenantTx } from '../db/index.ts'
import './keys.table.ts'
import type { RootSealed } from './root-sealed.ts'

/** Returns the fingerprint of the current root key, or undefined if the database has none. */
export async function findCurrent(tx: TenantTx): Promise<string | undefined> {
  const found = await tx.db
    .selectFrom('root_keys')
    .select('fingerprint')
    .where('retired_at', 'is', null)
    .executeTakeFirst()
  return found?.fingerprint
}

/** Returns true if the database ever used this root key, even if the key has been destroyed. */
export async function isKnown(tx: TenantTx, fingerprint: string): Promise<boolean> {
  const found = await tx.db
    .selectFrom('root_keys')
    .select('fingerprint')
    .where('fingerprint', '=', fingerprint)
    .executeTakeFirst()
  return found !== undefined
}

/** Returns true if values of this root key can be decrypted: the current key, or a former key that is still stored. */
export async function isUsable(tx: TenantTx, fingerprint: string): Promise<boolean> {
  const found = await tx.db
    .selectFrom('root_keys')
    .select('fingerprint')
    .where('fingerprint', '=', fingerprint)
    .where((eb) => eb.or([eb('retired_at', 'is', null), eb('sealed_key', 'is not', null)]))
    .executeTakeFirst()
  return found !== undefined
}

export async function insert(tx: TenantTx, fingerprint: string): Promise<void> {
  await tx.db.insertInto('root_keys').values({ fingerprint }).execute()
}

/** Returns the stored former root keys with their encrypted bytes, the latest first. */
export async function listFormer(tx: TenantTx) {
  const rows = await tx.db
    .selectFrom('root_keys')
    .select(['fingerprint', 'sealed_key'])
    .where('sealed_key', 'is not', null)
    .orderBy('retired_at', 'desc')
    .execute()
  return rows.map(({ fingerprint, sealed_key }) => ({
    fingerprint,
    sealed_key: sealed_key as Buffer,
  }))
}

/** Returns the fingerprints of stored former keys that were replaced up to an instant (ISO 8601), or all if null. */
export async function listFormerBefore(tx: TenantTx, before: string | null): Promise<string[]> {
  const rows = await tx.db
    .selectFrom('root_keys')
    .select('fingerprint')
    .where('sealed_key', 'is not', null)
    .where('retired_at', '<=', before ?? 'infinity')
    .execute()
  return rows.map(({ fingerprint }) => fingerprint)
}

/** Destroys former root keys. Their rows remain as a record. */
export async function destroyFormer(tx: TenantTx, fingerprints: readonly string[]): Promise<void> {
  await tx.db
    .updateTable('root_keys')
    .set({ sealed_key: null })
    .where('fingerprint', 'in', fingerprints)
    .execute()
}

/** Turns the current root key into a former one. @param sealedKey the key, encrypted with its successor */
export async function retire(tx: TenantTx, sealedKey: Buffer): Promise<void> {
  await tx.db
    .updateTable('root_keys')
    .set({ retired_at: sql`now()`, sealed_key: sealedKey })
    .where('retired_at', 'is', null)
    .execute()
}

export async function findServiceKey(tx: TenantTx): Promise<Buffer | undefined> {
  const found = await tx.db.selectFrom('service_key').select('sealed_key').executeTakeFirst()
  return found?.sealed_key
}

export async function insertServiceKey(tx: TenantTx, sealedKey: Buffer): Promise<void> {
  await tx.db.insertInto('service_key').values({ id: 1, sealed_key: sealedKey }).execute()
}

export interface LockedSession {
  pid: number
  /** The address of the client, or null for a connection through a local socket. */
  address: string | null
  since: string
}

/** Returns the open database connections of other processes of this service. */
export async function otherSessions(tx: TenantTx): Promise<LockedSession[]> {
  const { rows } =
    await sql<LockedSession>`select pid, address, since from other_sessions()`.execute(tx.db)
  return rows
}

export interface RootSealedRow {
  id: number | string | Buffer
  row: number | string | Buffer
  sealed: Buffer
}

/** The id of the last row in the previous batch, or null for the first batch. */
export type After = RootSealedRow['id'] | null

/** Returns the next rows with an encrypted value, by id. @param toWrite locks the rows; `by` selects by root key */
export async function listSealed(
  tx: TenantTx,
  { table, column, id, row = id.column, json }: RootSealed,
  after: After,
  limit: number,
  toWrite?: { by: readonly string[] | undefined },
): Promise<RootSealedRow[]> {
  const sealed = json
    ? sql`decode(${sql.ref(column)} ->> ${json.member}, 'base64')`
    : sql.ref(column)
  const named = json ? sql`and name = ${json.name}` : sql``
  const sealedBy = toWrite?.by
    ? sql`and encode(substring(${sealed} from 2 for 8), 'hex') = any(${toWrite.by})`
    : sql``
  const behind = after === null ? sql`` : sql`and ${sql.ref(id.column)} > ${after}`
  const locked = toWrite ? sql`for no key update` : sql``
  const { rows } = await sql<RootSealedRow>`
    select ${sql.ref(id.column)} as id, ${sql.ref(row)} as row, ${sealed} as sealed
    from ${sql.table(table)} where ${sealed} is not null ${named} ${sealedBy} ${behind}
    order by ${sql.ref(id.column)} limit ${limit} ${locked}`.execute(tx.db)
  return rows
}

/** Writes the re-encrypted values of a column and changes nothing else. */
export async function writeRootSealed(
  tx: TenantTx,
  { table, column, id, json }: RootSealed,
  rows: readonly Pick<RootSealedRow, 'id' | 'sealed'>[],
): Promise<void> {
  const value = json
    ? sql`jsonb_set(${sql.ref(`t.${column}`)}, array[${json.member}],
        to_jsonb(replace(encode(v.sealed, 'base64'), chr(10), '')))`
    : sql`v.sealed`
  await sql`
    update ${sql.table(table)} t set ${sql.ref(column)} = ${value}
    from unnest(${rows.map((row) => row.id)}::${sql.raw(id.type)}[],
      ${rows.map((row) => row.sealed)}::bytea[]) as v (id, sealed)
    where ${sql.ref(`t.${id.column}`)} = v.id`.execute(tx.db)
}
