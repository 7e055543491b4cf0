import type { TenantTx } from '../../../platform/db/index.ts'

/** Finds the owner of an account. Returns undefined if the account's address is not confirmed. */
export function findRecipient(
  tx: TenantTx,
  user: { id: number; tenant_id: number },
): Promise<{ email: string; name: string; clinic: string } | undefined> {
  return tx.db
    .selectFrom('users')
    .innerJoin('tenants', 'tenants.id', 'users.tenant_id')
    .select(['users.email', 'users.full_name as name', 'tenants.name as clinic'])
    .where('users.id', '=', user.id)
    .where('users.tenant_id', '=', user.tenant_id)
    .where('users.email_verified_at', 'is not', null)
    .executeTakeFirst()
}

export async function findClinic(tx: TenantTx, tenantId: number): Promise<string> {
  const { name } = await tx.db
    .selectFrom('tenants')
    .select('name')
    .where('id', '=', tenantId)
    .executeTakeFirstOrThrow()
  return name
}
