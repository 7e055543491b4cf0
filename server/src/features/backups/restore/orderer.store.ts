/**
 * The SQL of what a restore leaves to whoever ordered it: role and sign-in as they are now, also where the
 * backup does not know them. It is put on the stage, before that is applied.
 */
import type { Connection } from '../../../platform/db/index.ts'
import { RefusedError } from './refused.ts'
import { id, type Staged, stageOf } from './stage.store.ts'

/** The columns that let somebody in. */
export const SIGN_IN = [
  'email',
  'email_verified_at',
  'password_hash',
  'must_change_password',
  'totp_enabled_at',
  'last_login_at',
] as const

const OWN = [...SIGN_IN, 'role', 'is_active', 'is_pending', 'can_see_all_patients']

/** The tables that hold a second factor. */
const FACTORS = ['second_factors', 'recovery_codes']

/**
 * Keeps the account of whoever orders, in the tables of the scope.
 * @param orderedBy null where nobody of the service does
 */
export async function keepOrderer(
  client: Connection,
  orderedBy: number | null,
  tables: readonly Staged[],
): Promise<void> {
  const { rowCount } = await client.query(
    `update stage_users stage set ${OWN.map((column) => `${column} = live.${column}`).join(', ')}
     from users live where live.id = stage.id and live.id = $1`,
    [orderedBy],
  )
  if (rowCount === 0) await bringAlong(client, orderedBy, tables, 'users', 'id')
  // Their department may be younger too.
  await client.query(
    `update stage_users set department_id = null
     where id = $1 and department_id not in (select id from stage_departments)`,
    [orderedBy],
  )
}

/** Keeps the second factor of whoever orders, where those of the backup come back. */
export async function keepFactor(
  client: Connection,
  orderedBy: number | null,
  tables: readonly Staged[],
): Promise<void> {
  for (const name of FACTORS) {
    await client.query(`delete from ${stageOf(name)} where user_id = $1`, [orderedBy])
    await bringAlong(client, orderedBy, tables, name, 'user_id')
  }
}

/** Puts the rows that are there today on the stage. */
async function bringAlong(
  client: Connection,
  orderedBy: number | null,
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
       where ${id(user)} = $1 and tenant_id in (select id from stage_tenants)`,
      [orderedBy],
    )
}

/**
 * Of two accounts with one address only one can be there.
 * @throws RefusedError where the backup has another one with the address of whoever orders
 */
export async function requireOwnAddress(
  client: Connection,
  orderedBy: number | null,
): Promise<void> {
  const { rows } = await client.query(
    `select from users live join stage_users stage
       on stage.tenant_id = live.tenant_id and lower(stage.email) = lower(live.email)
     where live.id = $1 and stage.id <> live.id`,
    [orderedBy],
  )
  if (rows.length > 0)
    throw new RefusedError(
      'the backup has another account with your address, which was deleted since; have somebody else order it',
    )
}
