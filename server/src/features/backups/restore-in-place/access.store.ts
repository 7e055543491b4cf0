/**
 * The SQL of the rule that a restore brings data back and never access: on the stage, before it is
 * applied, the stricter of then and now wins. What was changed for it is reported.
 */
import type { Connection } from '../../../platform/db/index.ts'
import { keepAccounts, keepFactors, SIGN_IN } from './orderer.store.ts'
import type { AccessCase } from './outcome.ts'
import { id as named, type Staged, stageOf } from './stage.store.ts'

/** A case with the tenant whose it is. */
export type TenantCase = AccessCase & { tenant_id: number }

/**
 * By what a role can do: of two, the one of less stays. An auditor sees other things than clinicians, not
 * more: who has become one stays one.
 */
const RANK = `array_position(array['receptionist', 'nurse', 'doctor', 'auditor', 'admin', 'superadmin'], %)`
const rank = (column: string) => RANK.replace('%', column)

const TODAYS_ROLE = `(live.role = 'auditor' or ${rank('live.role')} <= ${rank('stage.role')})`

/** By whom it lets register, which is after approval unless it says otherwise: of two, the one for fewer stays. */
const openness = (table: string) =>
  `case ${table}.settings ->> 'registration' when 'closed' then 0 when 'open' then 2 else 1 end`

const TODAYS_REGISTRATION = `${openness('live')} < ${openness('stage')}`

/** Whether it is kept off the public list. */
const hidden = (table: string) => `coalesce(${table}.settings -> 'listed' = 'false', false)`
const HIDDEN_SINCE = `${hidden('live')} and not ${hidden('stage')}`

/** Whose second factor a tenant demands: what it says today counts. */
const demanded = (table: string) => `${table}.settings -> 'require_totp'`
const TODAYS_DEMAND = `${demanded('live')} is not null and ${demanded('live')} is distinct from ${demanded('stage')}`

/** What a webhook would send to somebody who hears it no more. */
const OTHER_URL = 'live.url <> stage.url'
const MORE_EVENTS = `exists (select from unnest(stage.events) as wanted (event)
  where not live.events && array['*', wanted.event, split_part(wanted.event, '.', 1) || '.*'])`
const TELLS_OTHERS = `(${OTHER_URL} or ${MORE_EVENTS})`

/**
 * Narrows what the stage would give back.
 * @param kept users who keep role and sign-in as they are now
 */
export async function narrowAccess(
  client: Connection,
  kept: readonly number[],
  tables: readonly Staged[],
): Promise<TenantCase[]> {
  const cases = [
    ...(await casesOf(client, 'users', USERS_NOW)),
    ...(await casesOf(client, 'tenants', TENANTS_NOW)),
    ...(await casesOf(client, 'webhooks', WEBHOOKS_NOW)),
  ]
  await client.query(`
    update stage_users stage set
      ${SIGN_IN.map((column) => `${column} = live.${column}`).join(', ')},
      is_active = stage.is_active and live.is_active,
      is_pending = (stage.is_active or stage.is_pending) and (live.is_active or live.is_pending)
        and not (stage.is_active and live.is_active),
      can_see_all_patients = stage.can_see_all_patients and live.can_see_all_patients,
      role = case when ${TODAYS_ROLE} then live.role else stage.role end
    from users live where live.id = stage.id`)
  await client.query(`
    update stage_users stage set is_active = false, is_pending = false
    where not exists (select from users live where live.id = stage.id)`)
  await keepAccounts(client, kept, tables)
  await client.query(`
    update stage_tenants stage set
      is_active = stage.is_active and live.is_active,
      deleted_at = coalesce(live.deleted_at, stage.deleted_at),
      purge_started_at = coalesce(live.purge_started_at, stage.purge_started_at),
      settings = case when ${TODAYS_DEMAND}
        then jsonb_set(stage.settings, '{require_totp}', ${demanded('live')}) else stage.settings end
    from tenants live where live.id = stage.id`)
  await keepRegistration(client)
  await client.query(`
    update stage_tenants stage set settings = jsonb_set(stage.settings, '{listed}', 'false')
    from tenants live where live.id = stage.id and ${HIDDEN_SINCE}`)
  await client.query(`
    update stage_webhooks stage set
      is_active = stage.is_active and live.is_active and not ${TELLS_OTHERS},
      disabled_reason = case when ${TELLS_OTHERS} then 'admin'
        else coalesce(live.disabled_reason, stage.disabled_reason) end
    from webhooks live where live.id = stage.id`)
  await client.query(`
    update stage_webhooks stage set is_active = false, disabled_reason = 'admin'
    where not exists (select from webhooks live where live.id = stage.id)`)
  return cases
}

/** Without a word of today's there is none again. */
async function keepRegistration(client: Connection): Promise<void> {
  await client.query(`
    update stage_tenants stage set settings = (stage.settings - 'registration')
      || jsonb_strip_nulls(jsonb_build_object('registration', live.settings -> 'registration'))
    from tenants live where live.id = stage.id and ${TODAYS_REGISTRATION}`)
}

/**
 * Has the days in which a deletion can be taken back begin anew where the restore is what deletes: those of the backup
 * may be over, and the next night would destroy what was put back since.
 */
export async function beginGraceAnew(client: Connection): Promise<void> {
  for (const table of ['tenants', 'patients'])
    await client.query(`
      update ${stageOf(table)} stage set deleted_at = coalesce(live.deleted_at, now())
      from ${named(table)} live where live.id = stage.id and stage.deleted_at is not null`)
}

/**
 * With the access of the backup: codes that were spent since stay so, who orders keeps their own, and a tenant
 * whose purge has begun is no less on its way.
 */
export async function keepSpent(
  client: Connection,
  kept: readonly number[],
  tables: readonly Staged[],
): Promise<void> {
  await client.query(`
    update stage_recovery_codes stage set used_at = coalesce(stage.used_at, live.used_at)
    from recovery_codes live where (live.user_id, live.code_hash) = (stage.user_id, stage.code_hash)`)
  await client.query(`
    update stage_second_factors stage set last_step = greatest(stage.last_step, live.last_step)
    from second_factors live where live.user_id = stage.user_id`)
  await client.query(`
    update stage_tenants stage set
      is_active = false, deleted_at = live.deleted_at, purge_started_at = live.purge_started_at
    from tenants live where live.id = stage.id and live.purge_started_at is not null`)
  await keepAccounts(client, kept, tables)
  await keepFactors(client, kept, tables)
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
): Promise<TenantCase[]> {
  const found = Object.entries(fields)
    .map(([name, condition]) => `case when ${condition} then '${name}' end`)
    .join(', ')
  const tenant = table === 'tenants' ? 'id' : 'tenant_id'
  const { rows } = await client.query<{ id: string; tenant_id: string; fields: string[] }>(
    `select stage.id, stage.${tenant} as tenant_id, array_remove(array[${found}], null) as fields
     from stage_${table} stage ${join} order by stage.id`,
  )
  return rows
    .filter(({ fields: kept }) => kept.length > 0)
    .map(({ id, tenant_id, fields: kept }) => ({
      tenant_id: Number(tenant_id),
      table,
      id: Number(id),
      fields: kept,
    }))
}

const USERS_NOW = {
  join: 'left join users live on live.id = stage.id',
  fields: {
    deleted: 'live.id is null',
    is_active: 'stage.is_active and not live.is_active',
    role: `live.role <> stage.role and ${TODAYS_ROLE}`,
    can_see_all_patients: 'stage.can_see_all_patients and not live.can_see_all_patients',
    email: 'stage.email <> live.email',
    password: 'live.id is not null and stage.password_hash is distinct from live.password_hash',
    second_factor:
      'live.id is not null and stage.totp_enabled_at is distinct from live.totp_enabled_at',
  },
}
const TENANTS_NOW = {
  join: 'join tenants live on live.id = stage.id',
  fields: {
    deleted: 'live.deleted_at is not null and stage.deleted_at is null',
    is_active: 'stage.is_active and not live.is_active',
    registration: TODAYS_REGISTRATION,
    listed: HIDDEN_SINCE,
    require_totp: TODAYS_DEMAND,
  },
}
const WEBHOOKS_NOW = {
  join: 'left join webhooks live on live.id = stage.id',
  fields: {
    deleted: 'live.id is null',
    is_active: 'stage.is_active and not live.is_active',
    secret: `exists (select from stage_webhook_secrets past join webhook_secrets today using (webhook_id)
      where webhook_id = stage.id and past.id <> today.id
        and past.expires_at is null and today.expires_at is null)`,
    url: `stage.is_active and ${OTHER_URL}`,
    events: `stage.is_active and ${MORE_EVENTS}`,
  },
}
