/** SQL queries about users during a restore, before the staged backup replaces the current rows. */
import type { PgConnection } from '../../platform/db/index.ts'

/**
 * Returns the accounts that a restore must not change. They always include the account of the user who requested the
 * restore. If that user is not a superadmin, the clinic's superadmins are included too, because only superadmins may
 * change them. Requires the database role that sees all tenants.
 * @param orderedBy the id of the user; null if no user ordered the restore
 */
export async function keptAccounts(
  client: PgConnection,
  orderedBy: number | null,
  tenantId: number | null,
): Promise<number[]> {
  const { rows } = await client.query<{ id: string }>(
    `select id from users where id = $1
       or role = 'superadmin' and tenant_id = $2 and $1::bigint is not null
         and not exists (select from users where id = $1 and role = 'superadmin')`,
    [orderedBy, tenantId],
  )
  return rows.map(({ id }) => Number(id))
}

/** Returns whether, in the backup, a different account has the e-mail address of one of these accounts. */
export async function isAddressOfOther(
  client: PgConnection,
  accounts: readonly number[],
): Promise<boolean> {
  const { rows } = await client.query(
    `select from users live join stage_users stage
       on stage.tenant_id = live.tenant_id and lower(stage.email) = lower(live.email)
     where live.id = any($1) and stage.id <> live.id`,
    [accounts],
  )
  return rows.length > 0
}

/** The SQL condition for a superadmin of any tenant who can sign in. */
const OPERATES = `u.role = 'superadmin' and u.is_active and t.is_active and t.deleted_at is null`

/**
 * Returns whether at least one superadmin can sign in after the restore. Considers the staged accounts, and the tenants
 * that are not restored. Requires the database role that sees all tenants.
 */
export async function isOperatorLeft(
  client: PgConnection,
  tenantId: number | null,
): Promise<boolean> {
  const { rows } = await client.query<{ some: boolean }>(
    `select exists (
       select from stage_users u join stage_tenants t on t.id = u.tenant_id where ${OPERATES}
       union all
       select from users u join tenants t on t.id = u.tenant_id where ${OPERATES}
         and $1::bigint is not null and t.id not in (select id from stage_tenants)) as some`,
    [tenantId],
  )
  return rows[0]?.some === true
}

/** Removes the department of these staged accounts if the backup does not contain the department. */
export async function leaveUnknownDepartments(
  client: PgConnection,
  accounts: readonly number[],
): Promise<void> {
  await client.query(
    `update stage_users set department_id = null
     where id = any($1) and department_id not in (select id from stage_departments)`,
    [accounts],
  )
}
