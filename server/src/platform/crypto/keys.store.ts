/** The SQL of the wrapped keys. */
import type { TenantTx } from '../db/index.ts'
import './keys.table.ts'

export function findCurrentKek(tx: TenantTx) {
  return tx.db
    .selectFrom('key_encryption_keys')
    .select(['id', 'wrapped_key'])
    .where('retired_at', 'is', null)
    .executeTakeFirst()
}

export function findKek(tx: TenantTx, id: number) {
  return tx.db
    .selectFrom('key_encryption_keys')
    .select(['id', 'wrapped_key'])
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Adds the key-encryption key under the id that its wrapping names; nothing when there is one. */
export async function insertKek(tx: TenantTx, id: number, wrapped: Buffer): Promise<void> {
  await tx.db
    .insertInto('key_encryption_keys')
    .values({ id, wrapped_key: wrapped })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export function findDataKey(tx: TenantTx, tenantId: number, id: number | null) {
  const keys = tx.db
    .selectFrom('data_keys')
    .select(['id', 'key_encryption_key_id', 'wrapped_key'])
    .where('tenant_id', '=', tenantId)
  return (
    id === null ? keys.where('retired_at', 'is', null) : keys.where('id', '=', id)
  ).executeTakeFirst()
}

/** Adds a tenant's data key; of two at once one is kept. */
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
