/** A deleted tenant can be restored for some days. Then all its data is destroyed, and no other data. */
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { purgesOf, purgeTenants } from '../../src/features/tenants/tenants.jobs.ts'
import { DAY, HOUR } from '../../src/lib/clock.ts'
import { systemTime } from '../../src/lib/time.ts'
import { openKeyRing, openSealer } from '../../src/platform/crypto/index.ts'
import { watchChanges } from '../../src/platform/db/index.ts'
import { type Logger, openLog } from '../../src/platform/observe/log.ts'
import {
  furnishAccount,
  furnishBackup,
  furnishFix,
  furnishList,
  furnishMessenger,
  furnishPatient,
  furnishPayment,
  furnishTicket,
  furnishVerification,
  furnishWebhook,
} from '../isolation/furnish.ts'
import { unheard } from '../sessions/scopes.ts'
import { type Clinic, makeClinic, type Person, signIn, superadmin } from '../support/clinics.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, ROOT_KEY, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { askForLink, login, PROXIED } from './people.ts'

const DAYS = 30

let service: Service
let north: Clinic
let south: Clinic

beforeAll(async () => {
  service = await openService({ background: ['jobs', 'payments', 'webhooks'], config: PROXIED })
  const root = await superadmin(service)
  north = await inhabited(await makeClinic(service, root, 'north'), root)
  south = await inhabited(await makeClinic(service, root, 'south'), root)
})

/** Adds rows for a tenant to every table with a tenant column. */
async function inhabited(clinic: Clinic, root: Person): Promise<Clinic> {
  const { doctor, nurse } = clinic.people
  await service.call('PUT', `/api/admin/departments/${clinic.departmentId}`, {
    token: root.token,
    body: { head_doctor_id: doctor.id },
  })
  await service.call('PUT', '/api/preferences', { token: nurse.token, body: { theme: 'dark' } })
  await service.call('POST', '/api/auth/totp/setup', {
    token: nurse.token,
    body: { password: nurse.password },
  })
  await askForLink(service, 'request-reset', nurse.email, clinic.subdomain)
  await service.idle('jobs')
  await furnishPatient(service, clinic)
  // Adds more rows than one batch deletes. Their content is not decryptable, and the purge does not need to decrypt it.
  await service.database.sql(
    `insert into patients (tenant_id, sealed_full_name, sealed_identifiers, sealed_allergies)
     select tenant_id, sealed_full_name, sealed_identifiers, sealed_allergies
     from patients, generate_series(1, 2300) where tenant_id = $1`,
    [clinic.id],
  )
  await service.database.sql(
    `insert into recovery_codes (user_id, tenant_id, code_hash) values ($1, $2, '\\x01')`,
    [nurse.id, clinic.id],
  )
  await furnishPayment(service, clinic)
  const { backupId } = await furnishBackup(service, clinic)
  await furnishTicket(service, nurse, backupId)
  await furnishFix(service, clinic)
  await furnishVerification(service, clinic)
  await furnishMessenger(service, nurse)
  await furnishList(service, nurse)
  const { webhookId } = await furnishWebhook(service, clinic)
  for (const [webhook, count] of [
    [webhookId, 2300],
    // Rows of a tenant that was deleted earlier.
    [-clinic.id, 3],
  ])
    await service.database.sql(
      `insert into webhook_deliveries (tenant_id, webhook_id, entry_id, event_at, event, status)
       select $1, $2, n + 1000000, now(), 'user.created', 'delivered' from generate_series(1, $3) n`,
      [clinic.id, webhook, count],
    )
  return clinic
}

/** Tables whose rows expire within minutes, and which are therefore not compared. */
const BRIEF = ['list_writes', 'refusals']

/** Counts the tenant's rows in each table. The journal's partitions count as one table. */
async function rowsOf(tenantId: number): Promise<Record<string, number>> {
  const tables = await service.database.sql<{ name: string }>(
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
     where a.attname = 'tenant_id' and c.relkind in ('r', 'p') and not c.relispartition
       and c.relnamespace = 'public'::regnamespace and c.relname <> all($1)
     order by c.relname`,
    [BRIEF],
  )
  const counts: Record<string, number> = {}
  for (const { name } of tables) {
    const [row] = await service.database.sql<{ count: number }>(
      `select count(*)::int as count from ${name} where tenant_id = $1`,
      [tenantId],
    )
    counts[name] = row?.count ?? Number.NaN
  }
  return counts
}

const depsOf = ({ app, clock }: Service) => ({ db: app.db, clock, log: silentLog })
const purges = () => purgesOf(Object.values(service.app.features))
const run = (signal = new AbortController().signal, log = silentLog) =>
  purgeTenants({ ...depsOf(service), log }, DAYS, signal, purges())

const restore = (id: number) => service.app.features.tenants.service.restore(id)

async function deleteTenant(id: number): Promise<void> {
  const { token } = await superadmin(service)
  const { status } = await service.call('DELETE', `/api/admin/tenants/${id}`, { token })
  expect(status).toBe(204)
}

const nurseOf = (clinic: Clinic) => login(service, clinic.people.nurse.email, clinic.subdomain)

test('a deleted tenant is restored completely within the retention days', async () => {
  const before = await rowsOf(north.id)
  expect(Object.entries(before).filter(([, count]) => count === 0)).toEqual([])
  await deleteTenant(north.id)
  expect((await nurseOf(north)).status).toBe(401)
  service.clock.advance(DAYS * DAY - HOUR)
  await run()
  await restore(north.id)
  const { journal: _, ...rows } = await rowsOf(north.id)
  expect(before).toMatchObject(rows)
  expect((await nurseOf(north)).status).toBe(200)
})

test('a deleted tenant is destroyed with its data key after the retention days; other tenants and the journal stay', async () => {
  const { body: kept } = await nurseOf(south)
  await deleteTenant(north.id)
  // `deleted_at` uses the database's clock, which tests cannot advance.
  service.clock.advance(DAYS * DAY + HOUR)
  const others = await rowsOf(south.id)
  const { journal = 0 } = await rowsOf(north.id)
  await run()
  const { journal: after, journal_resources: seen, ...rest } = await rowsOf(north.id)
  const isKept = (table: string) => /^(audit_|journal_prunings$)/.test(table)
  const left = Object.entries(rest).filter(([table, count]) => count > 0 && !isKept(table))
  expect(left).toEqual([])
  expect(rest).toHaveProperty('data_keys', 0)
  // The purge adds its entry, and the order that erases the sealed entries of the tenant.
  expect([after, seen]).toEqual([journal + 2, 2])
  expect(await service.database.sql('select id from tenants where id = $1', [north.id])).toEqual([])
  const actions = await service.database.sql(
    `select action, tenant_id from journal where resource_type = 'tenant' and resource_id = $1
     order by id desc limit 1`,
    [String(north.id)],
  )
  expect(actions).toEqual([{ action: 'tenant.purged', tenant_id: north.id }])
  expect(await rowsOf(south.id)).toEqual(others)
  expect(kept.tenant_id).toBe(south.id)
  expect((await nurseOf(south)).status).toBe(200)
  await expect(restore(north.id)).rejects.toMatchObject({ code: 'not_found' })
})

test('a tenant cannot be restored once its purge has begun, and the next run completes the purge', async () => {
  const clinic = await makeClinic(service, await superadmin(service), 'east')
  const { id } = clinic
  await furnishAccount(service, clinic.people.nurse)
  await furnishWebhook(service, clinic)
  await deleteTenant(id)
  service.clock.advance(DAYS * DAY + HOUR)
  const stopped = new AbortController()
  stopped.abort()
  await expect(run(stopped.signal)).rejects.toThrow()
  expect((await rowsOf(id)).users).toBe(5)
  await expect(restore(id)).rejects.toMatchObject({ code: 'not_found' })
  // Checks that a longer retention period does not bring the tenant back, because half of its data may already be
  // destroyed.
  await purgeTenants(depsOf(service), 300 * DAYS, new AbortController().signal, [])
  expect(await rowsOf(id)).toMatchObject({ users: 0, webhook_secrets: 0, data_keys: 0 })
})

test('no cache keeps the data key of a purged tenant', async () => {
  const { id } = await makeClinic(service, await superadmin(service), 'hill')
  const { db } = service.app
  const changes = watchChanges(service.database.address, openLog('silent'), systemTime)
  onTestFinished(() => changes.stop())
  const ring = await openKeyRing(db, openSealer(ROOT_KEY), changes)
  const place = { table: 'a', column: 'b', row: 1 }
  const sealed = await db.inTenant(id, async (tx) =>
    (await ring.forWriting(tx, id)).seal('hello', place),
  )
  const open = () =>
    db.inTenant(id, async (tx) => (await ring.ofTenant(tx, id)).open(sealed, place))
  await until('the node hears the others', () => changes.trusted() || undefined)
  await deleteTenant(id)
  service.clock.advance(DAYS * DAY + HOUR)
  expect((await open()).toString()).toBe('hello')
  await run()
  await until('the key is let go of', () =>
    open().then(
      () => undefined,
      (error: Error) => error.message.includes('missing') || undefined,
    ),
  )
})

test('rows of a purged tenant that somebody inserts manually are refused, and cannot be decrypted', async () => {
  const clinic = await makeClinic(service, await superadmin(service), 'vale')
  const { sql } = service.database
  const { patientId } = await furnishPatient(service, clinic)
  const columns = 'id, tenant_id, sealed_full_name, sealed_identifiers, sealed_allergies'
  await sql(`create table dump as select ${columns} from patients where id = ${patientId}`)
  await deleteTenant(clinic.id)
  service.clock.advance(DAYS * DAY + HOUR)
  await run()
  const tenant = `insert into tenants (id, name, subdomain) overriding system value
    values (${clinic.id}, 'Vale', 'vale')`
  await expect(sql(tenant)).rejects.toThrow(/was purged/)
  // Disables the triggers, which only a superuser may do.
  await sql(`begin; set local session_replication_role = replica; ${tenant}; commit`)
  const back = `insert into patients (${columns}) overriding system value table dump`
  await expect(sql(back)).rejects.toMatchObject({ constraint: 'patients__data_key' })
  await sql(`begin; set local session_replication_role = replica; ${back}; commit`)
  const ring = await openKeyRing(service.app.db, openSealer(ROOT_KEY), unheard)
  const [row] = await sql<{ sealed: Buffer }>('select sealed_full_name as sealed from dump')
  const place = { table: 'patients', column: 'sealed_full_name', row: patientId }
  await expect(
    service.app.db.inTenant(clinic.id, async (tx) =>
      (await ring.ofTenant(tx, clinic.id)).open(row?.sealed as Buffer, place),
    ),
  ).rejects.toThrow(/is missing/)
  await sql(`drop table dump; delete from tenants where id = ${clinic.id}`)
})

test('a tenant is purged only once when several nodes purge simultaneously', async () => {
  const { id } = await makeClinic(service, await superadmin(service), 'west')
  await deleteTenant(id)
  service.clock.advance(DAYS * DAY + HOUR)
  await Promise.all([run(), run(), run()])
  const purged = await service.database.sql(
    `select id from journal where action = 'tenant.purged' and tenant_id = $1`,
    [id],
  )
  expect(purged).toHaveLength(1)
})

test("a purged tenant's subdomain becomes free, and the next tenant to use it finds no old data", async () => {
  const { id } = await makeClinic(service, await superadmin(service), 'north')
  expect(id).not.toBe(north.id)
  await expect(
    signIn(service, { ...north.people.nurse, password: 'not-theirs-1', subdomain: 'north' }),
  ).rejects.toThrow('401')
  expect((await rowsOf(id)).patients).toBe(0)
})

test('a tenant that cannot be purged does not block other purges, and the next run retries it', async () => {
  const { sql } = service.database
  const ids: number[] = []
  for (const name of ['first', 'second', 'third']) {
    const [row] = await sql<{ id: number }>(
      `insert into tenants (name, subdomain, is_active, deleted_at)
       values ($1, $1, false, now() - interval '1 year') returning id`,
      [name],
    )
    ids.push(row?.id as number)
  }
  await sql("insert into departments (tenant_id, name) select unnest($1::bigint[]), 'Ward'", [ids])
  const [first, , third] = ids as [number, number, number]
  // Blocks two tenants, so that in either order a blocked tenant comes before another tenant.
  await sql(`
    create function refuse() returns trigger language plpgsql as $$
    begin raise exception 'tenant % stays', old.tenant_id; end $$;
    create trigger refuse before delete on departments for each row
    when (old.tenant_id in (${first}, ${third})) execute function refuse()`)
  const failed: unknown[] = []
  const error = (fields: { tenant_id?: number }) => void failed.push(fields.tenant_id)
  const outcome = run(undefined, { ...silentLog, error } as Logger)
  await expect(outcome).rejects.toThrow(/tenant \d+ stays/)
  await expect(outcome).rejects.toThrow(`tenant ${failed[0]} stays`)
  expect(failed.toSorted()).toEqual([first, third].toSorted())
  const left = () => sql('select id from tenants where id = any($1) order by id', [ids])
  expect(await left()).toEqual([{ id: first }, { id: third }])
  await sql('drop function refuse cascade')
  await run()
  expect(await left()).toEqual([])
})

test('every node schedules the purge jobs', async () => {
  const rows = await service.database.sql<{ name: string }>(
    `select name from pgboss.schedule where name like '%.purge' order by name`,
  )
  expect(rows.map(({ name }) => name)).toEqual(['auth.purge', 'patients.purge', 'tenants.purge'])
})
