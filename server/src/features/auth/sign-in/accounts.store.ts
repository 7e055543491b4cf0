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
  email_verified: boolean
  totp_enabled: boolean
  tenant_name: string
  tenant_is_active: boolean
  is_demo: boolean
  /** The tenant's settings; what sign-in reads in them is `require_totp`. */
  settings: Record<string, unknown>
}

function accounts(tx: TenantTx) {
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
      'tenants.name as tenant_name',
      'tenants.is_active as tenant_is_active',
      'tenants.is_demo',
      'tenants.settings',
      sql<boolean>`users.email_verified_at is not null`.as('email_verified'),
      sql<boolean>`users.totp_enabled_at is not null`.as('totp_enabled'),
    ])
    .where('tenants.deleted_at', 'is', null)
}

function named(tx: TenantTx, email: string) {
  return accounts(tx).where(sql<string>`lower(users.email)`, '=', sql<string>`lower(${email})`)
}

export function findAccount(
  tx: TenantTx,
  tenantId: number,
  email: string,
): Promise<Account | undefined> {
  return named(tx, email).where('users.tenant_id', '=', tenantId).executeTakeFirst()
}

/** The one active account of this address in all tenants; undefined when none or several have it. */
export async function findOnlyAccount(tx: TenantTx, email: string): Promise<Account | undefined> {
  const found = await named(tx, email)
    .where('users.is_active', '=', true)
    .where('tenants.is_active', '=', true)
    .limit(2)
    .execute()
  return found.length === 1 ? found[0] : undefined
}

/** The account of a user, held until the transaction ends. */
export function lockAccount(tx: TenantTx, userId: number): Promise<Account | undefined> {
  return accounts(tx)
    .where('users.tenant_id', '=', tx.tenantId)
    .where('users.id', '=', userId)
    .forUpdate('users')
    .executeTakeFirst()
}

/** Whether the account has signed in from this address since `since`; none has not. */
export async function isKnownAddress(
  tx: TenantTx,
  account: Account | undefined,
  ip: string,
  since: string,
): Promise<boolean> {
  const row = await tx.db
    .selectFrom('sessions')
    .select('id')
    .where('tenant_id', '=', account?.tenant_id ?? 0)
    .where('user_id', '=', account?.id ?? 0)
    .where('ip', '=', ip)
    .where('created_at', '>', since)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Notes the sign-in, if the account may still do so with the password that was checked: the row is
 * held until the commit, so a block that comes now waits and then ends this session too. Answers
 * what may have changed since the account was found.
 */
export async function admit(
  tx: TenantTx,
  account: Account,
  now: string,
  freshHash: string | null,
): Promise<Pick<Account, 'role' | 'full_name' | 'totp_enabled'> | undefined> {
  const { rows } = await sql<Pick<Account, 'role' | 'full_name' | 'totp_enabled'>>`
    with tenant as (
      select id from tenants where id = ${account.tenant_id} and is_active and deleted_at is null for share
    )
    update users set last_login_at = ${now}, password_hash = coalesce(${freshHash}, password_hash)
    from tenant
    where users.id = ${account.id} and users.tenant_id = tenant.id
      and users.is_active and users.password_hash = ${account.password_hash}
    returning users.role, users.full_name,
      users.totp_enabled_at is not null as totp_enabled`.execute(tx.db)
  return rows[0]
}

/** Notes that the user's address is theirs; a first time counts. */
export async function markVerified(tx: TenantTx, userId: number, now: string): Promise<void> {
  await tx.db
    .updateTable('users')
    .set({ email_verified_at: now })
    .where('id', '=', userId)
    .where('tenant_id', '=', tx.tenantId)
    .where('email_verified_at', 'is', null)
    .execute()
}

export async function setPassword(tx: TenantTx, userId: number, hash: string): Promise<void> {
  await tx.db
    .updateTable('users')
    .set({ password_hash: hash })
    .where('id', '=', userId)
    .where('tenant_id', '=', tx.tenantId)
    .execute()
}
