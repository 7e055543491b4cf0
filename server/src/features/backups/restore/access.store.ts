/**
 * The SQL of the rule that a restore brings data back and never access: on the stage, before it is
 * applied, the stricter of then and now wins. What was changed for it is reported.
 */
import type { Connection } from '../../../platform/db/index.ts'
import type { AccessCase } from './outcome.ts'

/**
 * By what a role can do: of two, the one of less stays. An auditor sees other things than clinicians, not
 * more: who has become one stays one.
 */
const RANK = `array_position(array['receptionist', 'nurse', 'doctor', 'auditor', 'admin', 'superadmin'], %)`
const rank = (column: string) => RANK.replace('%', column)

const TODAYS_ROLE = `(live.role = 'auditor' or ${rank('live.role')} <= ${rank('stage.role')})`

/** The columns that let somebody in, as they are today. */
const TODAYS = [
  'email',
  'email_verified_at',
  'password_hash',
  'must_change_password',
  'totp_enabled_at',
  'last_login_at',
] as const

/**
 * Narrows what the stage would give back.
 * @param orderedBy a user who keeps role and sign-in as they are now
 */
export async function narrowAccess(
  client: Connection,
  orderedBy: number | null,
): Promise<AccessCase[]> {
  const cases = [
    ...(await casesOf(client, 'users', USERS_NOW)),
    ...(await casesOf(client, 'tenants', TENANTS_NOW)),
    ...(await casesOf(client, 'webhooks', WEBHOOKS_NOW)),
  ]
  await client.query(`
    update stage_users stage set
      ${TODAYS.map((column) => `${column} = live.${column}`).join(', ')},
      is_active = stage.is_active and live.is_active,
      can_see_all_patients = stage.can_see_all_patients and live.can_see_all_patients,
      role = case when ${TODAYS_ROLE} then live.role else stage.role end
    from users live where live.id = stage.id`)
  await client.query(`
    update stage_users stage set is_active = false
    where not exists (select from users live where live.id = stage.id)`)
  await keepOwn(client, orderedBy)
  await client.query(`
    update stage_tenants stage set
      is_active = stage.is_active and live.is_active,
      deleted_at = coalesce(live.deleted_at, stage.deleted_at),
      purge_started_at = coalesce(live.purge_started_at, stage.purge_started_at),
      settings = case when live.settings -> 'require_totp' is null then stage.settings
        else jsonb_set(stage.settings, '{require_totp}', live.settings -> 'require_totp') end
    from tenants live where live.id = stage.id`)
  await client.query(`
    update stage_webhooks stage set is_active = stage.is_active and live.is_active,
      disabled_reason = coalesce(live.disabled_reason, stage.disabled_reason)
    from webhooks live where live.id = stage.id`)
  await client.query(`
    update stage_webhooks stage set is_active = false, disabled_reason = 'admin'
    where not exists (select from webhooks live where live.id = stage.id)`)
  return cases
}

/** Whoever orders keeps role and sign-in as they are now. */
async function keepOwn(client: Connection, orderedBy: number | null): Promise<void> {
  const own = [...TODAYS, 'role', 'is_active', 'can_see_all_patients']
  await client.query(
    `update stage_users stage set ${own.map((column) => `${column} = live.${column}`).join(', ')}
     from users live where live.id = stage.id and live.id = $1`,
    [orderedBy],
  )
}

/** With the access of the backup: codes that were spent since stay so, and who orders keeps their own. */
export async function keepSpent(client: Connection, orderedBy: number | null): Promise<void> {
  await client.query(`
    update stage_recovery_codes stage set used_at = coalesce(stage.used_at, live.used_at)
    from recovery_codes live where (live.user_id, live.code_hash) = (stage.user_id, stage.code_hash)`)
  await keepOwn(client, orderedBy)
}

/** Takes what is merged, and not restored, off the stage where its owner is still there. */
export async function keepTodays(client: Connection): Promise<void> {
  await client.query(
    'delete from stage_second_factors stage using users live where live.id = stage.user_id',
  )
  await client.query(
    'delete from stage_recovery_codes stage using users live where live.id = stage.user_id',
  )
  await client.query(
    'delete from stage_webhook_secrets stage using webhooks live where live.id = stage.webhook_id',
  )
}

/** Has keys that come back only open what they have sealed: today's go on sealing. */
export async function keepKeys(client: Connection): Promise<void> {
  await client.query(`
    update stage_key_encryption_keys set retired_at = coalesce(retired_at, now())
    where id not in (select id from key_encryption_keys)`)
  await client.query(`
    update stage_data_keys set retired_at = coalesce(retired_at, now())
    where id not in (select id from data_keys)`)
}

async function casesOf(
  client: Connection,
  table: AccessCase['table'],
  { join, fields }: { join: string; fields: Record<string, string> },
): Promise<AccessCase[]> {
  const found = Object.entries(fields)
    .map(([name, condition]) => `case when ${condition} then '${name}' end`)
    .join(', ')
  const { rows } = await client.query<{ id: string; fields: string[] }>(
    `select stage.id, array_remove(array[${found}], null) as fields
     from stage_${table} stage ${join} order by stage.id`,
  )
  return rows
    .filter(({ fields: kept }) => kept.length > 0)
    .map(({ id, fields: kept }) => ({ table, id: Number(id), fields: kept }))
}

const USERS_NOW = {
  join: 'left join users live on live.id = stage.id',
  fields: {
    deleted: 'live.id is null',
    is_active: 'stage.is_active and not live.is_active',
    role: `live.role <> stage.role and ${TODAYS_ROLE}`,
    can_see_all_patients: 'stage.can_see_all_patients and not live.can_see_all_patients',
    email: 'stage.email <> live.email',
    password: 'stage.password_hash <> live.password_hash',
    second_factor: '(stage.totp_enabled_at is null) <> (live.totp_enabled_at is null)',
  },
}
const TENANTS_NOW = {
  join: 'join tenants live on live.id = stage.id',
  fields: {
    deleted: 'live.deleted_at is not null and stage.deleted_at is null',
    is_active: 'stage.is_active and not live.is_active',
  },
}
const WEBHOOKS_NOW = {
  join: 'left join webhooks live on live.id = stage.id',
  fields: {
    deleted: 'live.id is null',
    is_active: 'stage.is_active and not live.is_active',
  },
}
