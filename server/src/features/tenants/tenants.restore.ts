/** Restore rules for tenants: a restore never makes a tenant's settings less strict. */
import type { RestoreColumns } from '../../platform/feature/restore-columns.ts'

/** Returns the rank of the setting `registration`, whose default is `approval`. A restore keeps the stricter value. */
const openness = (row: string) =>
  `case ${row}.settings ->> 'registration' when 'closed' then 0 when 'open' then 2 else 1 end`
const TODAYS_REGISTRATION = `${openness('live')} < ${openness('stage')}`

/** Returns the SQL condition that a tenant is hidden from the public list. */
const hidden = (row: string) => `coalesce(${row}.settings -> 'listed' = 'false', false)`
const HIDDEN_SINCE = `${hidden('live')} and not ${hidden('stage')}`

/** The setting `require_totp`: the roles that must have a second factor. A restore keeps the current setting. */
const demanded = (row: string) => `${row}.settings -> 'require_totp'`
const TODAYS_DEMAND = `${demanded('live')} is not null and ${demanded('live')} is distinct from ${demanded('stage')}`

const withDemand = `case when ${TODAYS_DEMAND}
  then jsonb_set(stage.settings, '{require_totp}', ${demanded('live')}) else stage.settings end`
/** Replaces the backup's `registration` if the current value is stricter. Removes it without a current value. */
const withRegistration = `case when ${TODAYS_REGISTRATION}
  then (${withDemand}) - 'registration'
    || jsonb_strip_nulls(jsonb_build_object('registration', live.settings -> 'registration'))
  else ${withDemand} end`
const withListing = `case when ${HIDDEN_SINCE}
  then jsonb_set(${withRegistration}, '{listed}', 'false') else ${withRegistration} end`

/** The setting `audit_retention_days`. A restore keeps the current one, because removed entries do not come back. */
const retention = (row: string) => `${row}.settings -> 'audit_retention_days'`
const TODAYS_RETENTION = `live.id is not null and ${retention('live')} is distinct from ${retention('stage')}`
const mergedSettings = `case when ${TODAYS_RETENTION}
  then (${withListing}) - 'audit_retention_days'
    || jsonb_strip_nulls(jsonb_build_object('audit_retention_days', ${retention('live')}))
  else ${withListing} end`

/** Uses the backup's value of the column, unless the purge of the tenant has started. */
const unlessPurged = (column: string, purged: string) =>
  `case when live.purge_started_at is null then stage.${column} else ${purged} end`

export const TENANT_COLUMNS = {
  tenants: {
    data: ['id', 'name', 'subdomain', 'is_platform', 'is_demo', 'created_at'],
    access: {
      is_active: { merged: 'stage.is_active and live.is_active' },
      deleted_at: { merged: 'coalesce(live.deleted_at, stage.deleted_at)' },
      purge_started_at: { merged: 'coalesce(live.purge_started_at, stage.purge_started_at)' },
      settings: { merged: mergedSettings },
    },
    label: 'name',
    reported: {
      deleted: 'live.deleted_at is not null and stage.deleted_at is null',
      is_active: 'stage.is_active and not live.is_active',
      registration: TODAYS_REGISTRATION,
      listed: HIDDEN_SINCE,
      require_totp: TODAYS_DEMAND,
      audit_retention_days: TODAYS_RETENTION,
    },
    spent: {
      is_active: unlessPurged('is_active', 'false'),
      deleted_at: unlessPurged('deleted_at', 'live.deleted_at'),
      purge_started_at: unlessPurged('purge_started_at', 'live.purge_started_at'),
    },
    deletedAt: 'deleted_at',
    parked: { column: 'subdomain', value: `'restoring-' || live.id` },
  },
} as const satisfies RestoreColumns
