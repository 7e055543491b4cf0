/** The SQL of finding who signs in, and of letting them in. */
import { sql } from 'kysely'
import type { Role } from '../../../lib/roles.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import '../auth.table.ts'

/** An account as sign-in judges it. */
export interface Account {
  id: number
  tenant_id: number
  email: string
  full_name: string
  role: Role
  password_hash: string
  is_active: boolean
  tenant_is_active: boolean
  is_demo: boolean
}

function accounts(tx: TenantTx, email: string) {
  return tx.db
    .selectFrom('users')
    .innerJoin('tenants', 'tenants.id', 'users.tenant_id')
    .select([
      'users.id',
      'users.tenant_id',
      'users.email',
      'users.full_name',
      'users.role',
      'users.password_hash',
      'users.is_active',
      'tenants.is_active as tenant_is_active',
      'tenants.is_demo',
    ])
    .where(sql<string>`lower(users.email)`, '=', sql<string>`lower(${email})`)
    .where('tenants.deleted_at', 'is', null)
}

export function findAccount(
  tx: TenantTx,
  tenantId: number,
  email: string,
): Promise<Account | undefined> {
  return accounts(tx, email).where('users.tenant_id', '=', tenantId).executeTakeFirst()
}

/** The one active account of this address in all tenants; undefined when none or several have it. */
export async function findOnlyAccount(tx: TenantTx, email: string): Promise<Account | undefined> {
  const found = await accounts(tx, email)
    .where('users.is_active', '=', true)
    .where('tenants.is_active', '=', true)
    .limit(2)
    .execute()
  return found.length === 1 ? found[0] : undefined
}

/**
 * Notes the sign-in, if the account may still do so with the password that was checked: the row is
 * held until the commit, so a block that comes now waits and then ends this session too.
 * Answers what may have changed since the account was found.
 */
export async function admit(
  tx: TenantTx,
  account: Account,
  now: string,
  freshHash: string | null,
): Promise<Pick<Account, 'role' | 'full_name'> | undefined> {
  const { rows } = await sql<Pick<Account, 'role' | 'full_name'>>`
    with tenant as (
      select id from tenants where id = ${account.tenant_id} and is_active and deleted_at is null for share
    )
    update users set last_login_at = ${now}, password_hash = coalesce(${freshHash}, password_hash)
    from tenant
    where users.id = ${account.id} and users.tenant_id = tenant.id
      and users.is_active and users.password_hash = ${account.password_hash}
    returning users.role, users.full_name`.execute(tx.db)
  return rows[0]
}
