import { sql } from 'kysely'
import type { TenantTx } from '../db/index.ts'

export interface RewrappedKey {
  id: number
  tenant_id: number
  wrapped_key: Buffer
  kek_id: number
}

/** Locks all key-encryption keys until the transaction ends, so that no concurrent rotation replaces them. */
export async function lockKeks(tx: TenantTx) {
  const { rows } = await sql<{ id: number; wrapped_key: Buffer; retired_at: string | null }>`
    select id, wrapped_key, retired_at from key_encryption_keys order by id for no key update`.execute(
    tx.db,
  )
  return rows
}

export async function retireKek(tx: TenantTx): Promise<void> {
  await sql`update key_encryption_keys set retired_at = now() where retired_at is null`.execute(
    tx.db,
  )
}

/** Locks and returns the data keys that are wrapped by any other key-encryption key than `kekId`. */
export async function listWrappedByOthers(tx: TenantTx, kekId: number): Promise<RewrappedKey[]> {
  const { rows } = await sql<RewrappedKey>`
    select id, tenant_id, wrapped_key, key_encryption_key_id as kek_id
    from data_keys where key_encryption_key_id <> ${kekId} order by id for no key update`.execute(
    tx.db,
  )
  return rows
}

export async function rewrap(
  tx: TenantTx,
  kekId: number,
  keys: readonly { id: number; wrapped_key: Buffer }[],
): Promise<void> {
  await sql`
    update data_keys k set wrapped_key = v.wrapped_key, key_encryption_key_id = ${kekId}
    from unnest(${keys.map(({ id }) => id)}::bigint[],
      ${keys.map(({ wrapped_key }) => wrapped_key)}::bytea[]) as v (id, wrapped_key)
    where k.id = v.id`.execute(tx.db)
}

/** Retires every current data key. Returns the ids of their tenants. */
export async function retireDataKeys(tx: TenantTx): Promise<number[]> {
  const { rows } = await sql<{ tenant_id: number }>`
    update data_keys set retired_at = now() where retired_at is null returning tenant_id`.execute(
    tx.db,
  )
  return rows.map(({ tenant_id }) => tenant_id)
}

export async function insertDataKeys(
  tx: TenantTx,
  kekId: number,
  keys: readonly { tenantId: number; wrapped: Buffer }[],
): Promise<void> {
  await sql`
    insert into data_keys (tenant_id, key_encryption_key_id, wrapped_key)
    select v.tenant_id, ${kekId}, v.wrapped_key
    from unnest(${keys.map(({ tenantId }) => tenantId)}::bigint[],
      ${keys.map(({ wrapped }) => wrapped)}::bytea[]) as v (tenant_id, wrapped_key)`.execute(tx.db)
}

/** Deletes all retired keys. Fails while a row still refers to one of the data keys. */
export async function deleteRetiredKeys(tx: TenantTx): Promise<void> {
  await sql`delete from data_keys where retired_at is not null`.execute(tx.db)
  await sql`delete from key_encryption_keys where retired_at is not null`.execute(tx.db)
}
