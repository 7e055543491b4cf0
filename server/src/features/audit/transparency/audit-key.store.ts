/** SQL for the keys that sign heads. */
import { type Selectable, sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { AuditKeysTable } from './transparency.table.ts'

type AuditKeyRow = Selectable<AuditKeysTable>

/** A key that signs. */
export interface SigningRow extends Pick<AuditKeyRow, 'id' | 'name'> {
  sealed_private_key: Buffer
  /** The time until which a former key signs. Null for the current key. */
  signs_until: string | null
}

/** The number of days for which a former key signs along. Auditors can fetch the new key during this time. */
const SIGNS_ALONG = sql`interval '30 days'`

/** Lists the keys that sign: the current one first, then former ones, the last retired first. */
export async function listSigningRows(tx: TenantTx): Promise<SigningRow[]> {
  const { rows } = await sql<SigningRow>`
    select id, name, sealed_private_key, retired_at + ${SIGNS_ALONG} as signs_until from audit_keys
    where sealed_private_key is not null
      and (retired_at is null or retired_at + ${SIGNS_ALONG} > now())
    order by retired_at desc nulls first, id`.execute(tx.db)
  return rows
}

/** The public part of a key. */
export type PublicRow = Pick<AuditKeyRow, 'name' | 'public_key'>

/** Lists all keys of the database that ever signed, the current one first. */
export const listAuditKeys = (tx: TenantTx): Promise<PublicRow[]> =>
  tx.db
    .selectFrom('audit_keys')
    .select(['name', 'public_key'])
    .orderBy('retired_at', (order) => order.desc().nullsFirst())
    .orderBy('id')
    .execute()

/** Finds the current key. Returns undefined if none was created yet, or after a lost root key. */
export const findCurrentAuditKey = (tx: TenantTx): Promise<PublicRow | undefined> =>
  tx.db
    .selectFrom('audit_keys')
    .select(['name', 'public_key'])
    .where('retired_at', 'is', null)
    .executeTakeFirst()

/** Retires the current key, if there is one. */
export async function retireAuditKey(tx: TenantTx): Promise<void> {
  await tx.db
    .updateTable('audit_keys')
    .set({ retired_at: sql`clock_timestamp()` })
    .where('retired_at', 'is', null)
    .execute()
}

/** Adds the current key. */
export async function insertAuditKey(
  tx: TenantTx,
  key: PublicRow & { id: string; sealed_private_key: Buffer },
): Promise<void> {
  await tx.db
    .insertInto('audit_keys')
    .values({ ...key, created_at: sql`clock_timestamp()` })
    .execute()
}
