/**
 * The SQL of accounts that a restore leaves as they are, role and sign-in, also where the backup does not know them.
 * They are put on the stage, before that is applied.
 */
import type { Connection } from '../../../platform/db/index.ts'
import { RefusedError } from './refused.ts'
import { id, type Staged, stageOf } from './stage.store.ts'

/** The columns that let somebody in. */
export const SIGN_IN = [
  'email',
  'email_verified_at',
  'is_vouched',
  'password_hash',
  'must_change_password',
  'totp_enabled_at',
  'last_login_at',
] as const

const OWN = [...SIGN_IN, 'role', 'is_active', 'is_pending', 'can_see_all_patients']

/** The tables that hold a second factor. */
const FACTORS = ['second_factors', 'recovery_codes']

/**
 * Whose accounts stay: that of whoever orders and, where that is no superadmin, those of the clinic's superadmins, on
 * whom nobody else may act. For the role that sees all.
 * @param orderedBy null where nobody of the service does
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
  return rows.map(({ id: kept }) => Number(kept))
}

/** Keeps these accounts, in the tables of the scope. */
export async function keepAccounts(
  client: Connection,
  kept: readonly number[],
  tables: readonly Staged[],
): Promise<void> {
  await client.query(
    `update stage_users stage set ${OWN.map((column) => `${column} = live.${column}`).join(', ')}
     from users live where live.id = stage.id and live.id = any($1)`,
    [kept],
  )
  await bringAlong(client, kept, tables, 'users', 'id')
  // Their department may be younger too.
  await client.query(
    `update stage_users set department_id = null
     where id = any($1) and department_id not in (select id from stage_departments)`,
    [kept],
  )
}

/** Keeps the second factor of these accounts, where those of the backup come back. */
export async function keepFactors(
  client: Connection,
  kept: readonly number[],
  tables: readonly Staged[],
): Promise<void> {
  for (const name of FACTORS) {
    await client.query(`delete from ${stageOf(name)} where user_id = any($1)`, [kept])
    await bringAlong(client, kept, tables, name, 'user_id')
  }
}

/** Puts the rows that are there today on the stage, where it has none of them. */
async function bringAlong(
  client: Connection,
  kept: readonly number[],
  tables: readonly Staged[],
  name: string,
  user: string,
): Promise<void> {
  const columns = tables
    .find((table) => table.name === name)
    ?.columns.map(id)
    .join(', ')
  if (columns)
    await client.query(
      `insert into ${stageOf(name)} (${columns}) select ${columns} from ${id(name)}
       where ${id(user)} = any($1) and tenant_id in (select id from stage_tenants)
       on conflict do nothing`,
      [kept],
    )
}

/**
 * Of two accounts with one address only one can be there.
 * @throws RefusedError where the backup has another one with the address of one that stays
 */
export async function requireOwnAddresses(
  client: Connection,
  kept: readonly number[],
): Promise<void> {
  const { rows } = await client.query(
    `select from users live join stage_users stage
       on stage.tenant_id = live.tenant_id and lower(stage.email) = lower(live.email)
     where live.id = any($1) and stage.id <> live.id`,
    [kept],
  )
  if (rows.length > 0)
    throw new RefusedError(
      'the backup has another account with your address, or that of a superadmin, which was deleted since; have another superadmin order it',
    )
}
