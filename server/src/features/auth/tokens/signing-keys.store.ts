import type { JWK } from 'jose'
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import './signing-keys.table.ts'

export interface SigningKeyRow {
  kid: string
  public_jwk: JWK
  sealed_private_key: Buffer
  created_at: string
  retired_at: string | null
}

/** Lists the signing key and the keys that were retired after `since`. The newest comes first. */
export function listSigningKeys(tx: TenantTx, since: string): Promise<SigningKeyRow[]> {
  return tx.db
    .selectFrom('signing_keys')
    .select(['kid', 'public_jwk', 'sealed_private_key', 'created_at', 'retired_at'])
    .where((eb) => eb.or([eb('retired_at', 'is', null), eb('retired_at', '>', since)]))
    .orderBy(sql`retired_at is null`, 'desc')
    .orderBy('retired_at', 'desc')
    .execute()
}

/**
 * Retires the signing key if it was created before `createdBefore`. Returns whether it was retired. Only one of several
 * concurrent calls succeeds.
 */
export async function retireKey(
  tx: TenantTx,
  now: string,
  createdBefore = 'infinity',
): Promise<boolean> {
  const result = await tx.db
    .updateTable('signing_keys')
    .set({ retired_at: now })
    .where('retired_at', 'is', null)
    .where('created_at', '<', createdBefore)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** Deletes the retired keys, so that they no longer verify tokens. */
export async function deleteRetiredSigningKeys(tx: TenantTx): Promise<void> {
  await tx.db.deleteFrom('signing_keys').where('retired_at', 'is not', null).execute()
}

/** Adds a new signing key. Returns false if another node has just added one. */
export async function insertKey(
  tx: TenantTx,
  key: Omit<SigningKeyRow, 'retired_at' | 'public_jwk'> & { public_jwk: string },
): Promise<boolean> {
  const result = await tx.db
    .insertInto('signing_keys')
    .values(key)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}
