import { sql } from 'kysely'
import type { TenantTx } from '../db/index.ts'
import './keys.table.ts'

export function findCurrentKek(tx: TenantTx) {
  return tx.db
    .selectFrom('key_encryption_keys')
    .select(['id', 'wrapped_key'])
    .where('retired_at', 'is', null)
    .executeTakeFirst()
}

/** Returns a new id, which no key-encryption key has or ever had. */
export async function newKekId(tx: TenantTx): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select nextval(pg_get_serial_sequence('key_encryption_keys', 'id')) as id`.execute(tx.db)
  return rows[0]?.id as number
}

/** Inserts a key-encryption key with the id to which its encryption is bound. Does nothing if a current key exists. */
export async function insertKek(tx: TenantTx, id: number, wrapped: Buffer): Promise<void> {
  await tx.db
    .insertInto('key_encryption_keys')
    .values({ id, wrapped_key: wrapped })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Returns a tenant's data keys, the current one first, each with the key-encryption key that wraps it. */
export function listDataKeys(tx: TenantTx, tenantId: number) {
  return tx.db
    .selectFrom('data_keys')
    .innerJoin('key_encryption_keys as kek', 'kek.id', 'data_keys.key_encryption_key_id')
    .select([
      'data_keys.id',
      'data_keys.wrapped_key',
      'data_keys.retired_at',
      'kek.id as kek_id',
      'kek.wrapped_key as wrapped_kek',
    ])
    .where('data_keys.tenant_id', '=', tenantId)
    .orderBy('data_keys.retired_at', (order) => order.desc().nullsFirst())
    .execute()
}

/** Inserts a tenant's data key. Does nothing if a concurrent transaction has already inserted one. */
export async function insertDataKey(
  tx: TenantTx,
  key: { tenant_id: number; key_encryption_key_id: number; wrapped_key: Buffer },
): Promise<void> {
  await tx.db
    .insertInto('data_keys')
    .values(key)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}
