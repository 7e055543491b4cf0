/** The rows of the database whose plans are tested: many rows in every table that a list or a job reads. */

import pg from 'pg'
import { enterActions } from '../../src/platform/journal/index.ts'
import { scopesOf } from '../sessions/scopes.ts'
import type { TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

/** The tenant with most of the users, departments and patients. */
export const LARGE_TENANT = 1
/**
 * The tenants of the journal: the large tenant has half of the entries, the small one has 50, and 49 middling ones
 * share the rest.
 */
export const [MIDDLING_TENANT, SMALL_TENANT] = [2, 99]
export const JOURNAL_ENTRIES = 120_000
/** Users of the large tenant with very many entries, with 20 entries, and with none. */
export const [BUSY_USER, IDLE_USER, UNSEEN_USER] = [7, 8, 9]
/** The addresses of requests: half of the entries have the busy one, and 20 have the idle one. */
export const [BUSY_ADDRESS, IDLE_ADDRESS] = ['203.0.113.7', '203.0.113.8']
export const REQUEST = '22222222-2222-4222-8222-222222222222'

/**
 * A patient whose record is read very often. There is one entry per second in the month, and every second entry is a
 * read of this patient.
 */
export const MUCH_READ_PATIENT = 7
export const PATIENT_READS = 20_000
export const PATIENT_LISTS = 3_000

/** A tenant without any delivery. */
export const TENANT_WITHOUT_DELIVERIES = 3
export const WEBHOOKS_WITH_DELIVERIES = [1, 2, 3, 7, 8, 9]
export const DELIVERIES_PER_WEBHOOK = 8_000
export const DELIVERY_DAYS = 6

export const NOTIFICATIONS = 20_000
export const NOTIFIED_TENANT = 101

export const PATIENTS = 10_000
/** Data keys of the large tenant. The old key encrypts the patients. */
export const [OLD_KEY, NEW_KEY] = [1, 2]

/** Returns a value that the database accepts as encrypted. */
export const sealedWith = (key: number) => `'\\x02'::bytea || int8send(${key})`

/** Today. Computed once, because another month may begin during the tests. */
const today = new Date()
const ACCESS_MONTH = new Date(
  Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 2),
).toISOString()

/** Returns the time of an access to a patient's record, in a separate month. */
export const accessTime = (second: string) =>
  `timestamptz '${ACCESS_MONTH}' + ${second} * interval '1 second'`

/**
 * Users of all tenants. Few are pending, blocked, unconfirmed or in a department, and half of them have a second
 * factor.
 */
const PEOPLE = `
  insert into tenants (id, name, subdomain) select n, 't', 't' || n from generate_series(1, 109) n;
  insert into departments (tenant_id, name)
    select case when n <= 4000 then 1 else 2 + n % 100 end, 'd' || n from generate_series(1, 6000) n;
  insert into users (tenant_id, email, full_name, role, password_hash, is_active, is_pending, department_id,
      email_verified_at, totp_enabled_at)
    select case when n <= 15000 then 1 else 2 + n % 100 end, 'u' || n || '@x.test', 'User ' || n % 4000,
      (array['doctor', 'nurse', 'receptionist'])[1 + n % 3], '-', n % 100 > 0, n % 200 = 0,
      case when n <= 15000 and n % 50 = 0 then 7 end, case when n % 97 > 0 then now() end,
      case when n % 2 = 0 then now() end
    from generate_series(1, 20000) n`

/** The journal. All entries are in one month, so that any scope and filter could read all of them. */
const JOURNAL = `
  insert into journal (tenant_id, user_id, user_email, action, resource_type, resource_id, ip, request_id, created_at)
    select
      case when n % 2400 = 0 then ${SMALL_TENANT} when n % 2 = 0 then ${LARGE_TENANT} else 2 + (n / 2) % 49 end,
      case when n % 6000 = 1 then ${IDLE_USER} when n % 2 = 0 then ${BUSY_USER} else 100 + n % 997 end,
      'somebody@clinic.example',
      case when n % 40000 = 5 then 'auth.refresh_reused' when n % 30000 = 7 then 'tenant.updated'
        when n % 10 < 4 then 'auth.token_refreshed' when n % 10 < 8 then 'auth.login'
        when n % 10 = 8 then 'auth.logout' else 'user.updated' end,
      case when n % 40000 = 5 then 'session' when n % 30000 = 7 then 'tenant'
        when n % 10 = 9 then 'user' else 'session' end,
      case when n % 10 = 9 then (n % 997)::text else gen_random_uuid()::text end,
      case when n % 6000 = 1 then '${IDLE_ADDRESS}' when n % 2 = 0 then '${BUSY_ADDRESS}' else '198.51.100.' || n % 251 end,
      case when n = 50000 then uuid '${REQUEST}' else gen_random_uuid() end,
      date_trunc('month', now(), 'UTC') + interval '1 month' + n * interval '20 seconds'
    from generate_series(1, ${JOURNAL_ENTRIES}) as n`

const ACCESSES = `
  insert into journal (tenant_id, action, resource_type, resource_id, is_access, created_at)
    select ${LARGE_TENANT}, case when n % 100 = 0 then 'patient.updated' else 'patient.read' end, 'patient',
      case when n % 2 = 0 then ${MUCH_READ_PATIENT} else 100 + n % 997 end::text, n % 100 <> 0, ${accessTime('n')}
    from generate_series(1, ${2 * PATIENT_READS}) n;
  with listed as (
    insert into journal (tenant_id, action, resource_type, is_access, created_at)
    select ${LARGE_TENANT}, 'patient.listed', 'patient', true, ${accessTime('7 * n')}
    from generate_series(1, ${PATIENT_LISTS}) n returning id, created_at)
  insert into journal_resources (tenant_id, resource_type, resource_id, created_at, entry_id)
    select ${LARGE_TENANT}, 'patient', patient, created_at, id
    from listed, (values (${MUCH_READ_PATIENT}), (8)) v (patient)`

const WEBHOOKS = `
  select ensure_webhook_partitions(current_date - 3, current_date + 2);
  insert into webhooks (id, tenant_id, url, events)
    select id, case when id <= 3 then 1 else 2 end, 'https://x.test', '{}'
    from unnest('{${WEBHOOKS_WITH_DELIVERIES}}'::bigint[]) id;
  insert into webhook_deliveries (tenant_id, webhook_id, entry_id, event_at, event, due_at)
    select tenant_id, id, n, now() - n % 4 * interval '1 day', 'user.updated', now()
    from webhooks, generate_series(1, ${DELIVERIES_PER_WEBHOOK}) n;
  insert into webhook_attempts (tenant_id, webhook_id, entry_id, event_at, number, started_at, duration_ms)
    select tenant_id, webhook_id, entry_id, event_at, 1, now(), 5 from webhook_deliveries`

const PATIENT_RECORDS = `
  insert into key_encryption_keys (id, wrapped_key) values (1, '');
  insert into data_keys (id, tenant_id, key_encryption_key_id, wrapped_key, retired_at)
    values (${OLD_KEY}, 1, 1, '', now()), (${NEW_KEY}, 1, 1, '', null), (1000, 100, 1, '', null);
  insert into patients (tenant_id, department_id, sealed_full_name, sealed_identifiers, sealed_allergies)
    select 1, (select min(id) from departments where tenant_id = 1) + n % 50, s, s, s
    from generate_series(1, ${PATIENTS}) n, (select ${sealedWith(OLD_KEY)}) k (s);
  insert into patient_tokens (tenant_id, patient_id, kind, token, data_key_id)
    select 1, id, kind, decode(md5(kind || '-' || id), 'hex'), ${OLD_KEY}
    from patients, (values (1), (2)) k (kind)`

/**
 * Payment notifications. Of the oldest 30, the first ten are from paygate, the next ten have failed, and the last ten are
 * pending. All others are applied notifications from cardnet.
 */
const PAYMENT_NOTIFICATIONS = `
  insert into payment_notifications (tenant_id, provider, event_key, type, state, reason, holds_key,
      received_at, armed_at, due_at, waiting_since, seal_id, sealed_body)
    select 100 + n % 10, case when n <= 10 then 'paygate' else 'cardnet' end, 'evt_' || n, 'payment.succeeded',
      state, case when state = 'failed' then 'unreadable' end, true, at, at,
      case when state = 'received' then at end, case when state = 'received' then at end,
      gen_random_uuid(), ${sealedWith(1000)}
    from generate_series(1, ${NOTIFICATIONS}) n,
      lateral (select now() - interval '30 days' + n * interval '1 minute',
        case when n between 11 and 20 then 'failed' when n between 21 and 30 then 'received' else 'applied' end)
        as said (at, state)`

/** Counts over time: a month with one tenant in each slot, and two months of the large tenant. */
const STATS = `
  insert into stats (tenant_id, series, slot, count)
    select 1 + n % 50, series, timestamptz '2026-01-01Z' + n * interval '15 minutes', n
    from generate_series(0, 30 * 96 - 1) n, unnest('{sign_ins,changes,patient_reads}'::text[]) series;
  insert into stats (tenant_id, series, slot, step, count)
    select ${LARGE_TENANT}, series, timestamptz '2026-02-01Z' + n * interval '15 minutes', step, n
    from generate_series(0, 60 * 96 - 1) n, generate_series(0, 2) step,
      unnest('{sign_ins,changes,deliveries_delivered}'::text[]) series`

/** Adds all rows. Autovacuum is off, so the planner has no statistics until `vacuumAll` is called. */
export async function furnish(database: TestDatabase): Promise<void> {
  await enterActions(scopesOf(database, 1))
  // The template may have been created in the previous month.
  await database.sql('select ensure_journal_partitions(2)')
  await database.sql(PEOPLE)
  await database.sql(STATS)
  await database.sql(WEBHOOKS)
  await database.sql(`do $$ declare name regclass; begin
    for name in select oid from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
    loop execute format('alter table %s set (autovacuum_enabled = false)', name); end loop; end $$`)
  for (const rows of [JOURNAL, ACCESSES, PATIENT_RECORDS, PAYMENT_NOTIFICATIONS])
    await database.sql(rows)
}

/** With so high a target, PostgreSQL samples 300,000 rows. This is every row, so each run has the same statistics. */
const STATISTICS_TARGET = 1_000

/**
 * Vacuums and analyzes the database until every row is visible to every transaction. One vacuum is not enough while a
 * new connection has an older snapshot.
 */
export async function vacuumAll({ sql, url }: TestDatabase): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query(`set default_statistics_target = ${STATISTICS_TARGET}`)
    await until('all rows are visible', async () => {
      await client.query('vacuum analyze')
      const [row] = await sql<{ is_visible: boolean }>(
        `select bool_and(relallvisible = relpages) as is_visible from pg_class
         where relkind = 'r' and relnamespace = 'public'::regnamespace`,
      )
      return row?.is_visible || undefined
    })
  } finally {
    await client.end()
  }
}
