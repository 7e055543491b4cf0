import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import '../webhooks.table.ts'

export interface SealedSecret {
  id: string
  sealed_secret: Buffer
  /** Null for the current secret. */
  expires_at: string | null
}

/** Returns the secrets valid at `now`: the current secret, then the replaced ones, latest expiry first. */
export function livingSecrets(
  tx: TenantTx,
  webhookId: number,
  now: string,
): Promise<SealedSecret[]> {
  return tx.db
    .selectFrom('webhook_secrets')
    .select(['id', 'sealed_secret', 'expires_at'])
    .where('webhook_id', '=', webhookId)
    .where('tenant_id', '=', tx.tenantId)
    .where((or) => or.or([or('expires_at', 'is', null), or('expires_at', '>', now)]))
    .orderBy(sql`expires_at desc nulls first`)
    .execute()
}

export async function insertSecret(
  tx: TenantTx,
  secret: { id: string; tenant_id: number; webhook_id: number; sealed_secret: Buffer },
): Promise<void> {
  await tx.db
    .insertInto('webhook_secrets')
    .values({ ...secret, expires_at: null })
    .execute()
}

/** Makes a secret expire at `iso`. Messages are signed with it until then. */
export async function expireSecret(tx: TenantTx, id: string, iso: string): Promise<void> {
  await tx.db
    .updateTable('webhook_secrets')
    .set({ expires_at: iso })
    .where('id', '=', id)
    .where('tenant_id', '=', tx.tenantId)
    .execute()
}

export async function deleteSecrets(tx: TenantTx, ids: readonly string[]): Promise<void> {
  await tx.db
    .deleteFrom('webhook_secrets')
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .where('tenant_id', '=', tx.tenantId)
    .execute()
}
