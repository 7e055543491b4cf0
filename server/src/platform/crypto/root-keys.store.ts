/** The SQL of root keys: which one it is, which ones were before, and what they seal. */
import { sql } from 'kysely'
import type { TenantTx } from '../db/index.ts'
import './keys.table.ts'
import type { RootSealed } from './root-sealed.ts'

/** The fingerprint of the root key that the database is sealed with. */
export async function findCurrent(tx: TenantTx): Promise<string | undefined> {
  const found = await tx.db
    .selectFrom('root_keys')
    .select('fingerprint')
    .where('retired_at', 'is', null)
    .executeTakeFirst()
  return found?.fingerprint
}

/** Whether it is or was the database's, be it destroyed since. */
export async function isKnown(tx: TenantTx, fingerprint: string): Promise<boolean> {
  const found = await tx.db
    .selectFrom('root_keys')
    .select('fingerprint')
    .where('fingerprint', '=', fingerprint)
    .executeTakeFirst()
  return found !== undefined
}

/** Whether the root key still opens what it sealed: it is the current one, or a former one that is kept. */
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

/** The former ones that are kept, the latest first. */
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

/** The former ones that are kept, and were replaced before the instant; all, where there is none. */
export async function listFormerBefore(tx: TenantTx, before: string | null): Promise<string[]> {
  const rows = await tx.db
    .selectFrom('root_keys')
    .select('fingerprint')
    .where('sealed_key', 'is not', null)
    .where('retired_at', '<=', before ?? 'infinity')
    .execute()
  return rows.map(({ fingerprint }) => fingerprint)
}

/** Forgets the keys; that there were such stays on record. */
export async function destroyFormer(tx: TenantTx, fingerprints: readonly string[]): Promise<void> {
  await tx.db
    .updateTable('root_keys')
    .set({ sealed_key: null })
    .where('fingerprint', 'in', fingerprints)
    .execute()
}

/** Has the current one be a former one. */
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

export interface Session {
  pid: number
  /** Null where it came through a socket of this machine. */
  address: string | null
  since: string
}

/** The connections to the database that others of this service have. */
export async function otherSessions(tx: TenantTx): Promise<Session[]> {
  const { rows } = await sql<Session>`select pid, address, since from other_sessions()`.execute(
    tx.db,
  )
  return rows
}

export interface RootSealedRow {
  id: number | string | Buffer
  row: number | string | Buffer
  sealed: Buffer
}

/** Behind which row the next ones are; null for the first. */
export type After = RootSealedRow['id'] | null

/**
 * Yields the rows with something sealed, in the order of their ids and locked until the transaction ends.
 * @param by only what names one of these root keys
 */
export async function* batches(
  tx: TenantTx,
  sealed: RootSealed,
  limit: number,
  by?: readonly string[],
) {
  for (let after: After = null; ; ) {
    const rows: RootSealedRow[] = await listSealed(tx, sealed, after, limit, { by })
    if (rows.length > 0) yield rows
    if (rows.length < limit) return
    after = rows.at(-1)?.id ?? null
  }
}

/** The next of these rows. */
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

/** Writes what was sealed anew, and nothing beside it. */
export async function writeSealed(
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
