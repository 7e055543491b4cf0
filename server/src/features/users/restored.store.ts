/** The SQL of users within a restore, over the stage of the backup. */
import type { Connection } from '../../platform/db/index.ts'

/**
 * Returns the accounts that a restore leaves as they are: that of the user who orders it and, if that is no superadmin,
 * those of the clinic's superadmins, on whom nobody else may act. For the role that sees all.
 * @param orderedBy null where no user does
 */
export async function keptAccounts(
  client: Connection,
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

/** Returns whether the backup has another account with the address of one of these. */
export async function isAddressOfOther(
  client: Connection,
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

/** As sign-in counts them: a superadmin of any tenant. */
const OPERATES = `u.role = 'superadmin' and u.is_active and t.is_active and t.deleted_at is null`

/** Returns whether a superadmin is left, on the narrowed stage or outside the restore. For the role that sees all. */
export async function isOperatorLeft(
  client: Connection,
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

/** Takes these accounts of the stage out of departments that the backup does not know. */
export async function leaveUnknownDepartments(
  client: Connection,
  accounts: readonly number[],
): Promise<void> {
  await client.query(
    `update stage_users set department_id = null
     where id = any($1) and department_id not in (select id from stage_departments)`,
    [accounts],
  )
}
