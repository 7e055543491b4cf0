/**
 * The overview shows the items that need attention and the figures of a day. It also handles parts that cannot be read.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import { MINUTE } from '../../src/lib/clock.ts'
import { senderTo } from '../payments/scene.ts'
import { type Clinic, makeClinic, PASSWORD, type Person, superadmin } from '../support/clinics.ts'
import { cardnetNotice } from '../support/payments.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let root: Person
let north: Clinic
let south: Clinic

const PATH = '/api/admin/overview'

async function overview(person: Person, tenantId?: number) {
  const query = tenantId === undefined ? {} : { tenant_id: tenantId }
  const { status, body } = await service.call('GET', PATH, { token: person.token, query })
  expect(status).toBe(200)
  return body
}

/** Adds a webhook that has been failing for this many minutes, or was deactivated. */
async function addWebhook(
  clinic: Clinic,
  { failingFor, reason = null }: { failingFor: number | null; reason?: string | null },
): Promise<number> {
  const since = failingFor === null ? null : new Date(service.clock.now() - failingFor * MINUTE)
  const [webhook] = await service.database.sql<{ id: number }>(
    `insert into webhooks (tenant_id, url, events, is_active, disabled_reason)
     values ($1, 'https://lis.example:8443/secret-path?key=1', '{*}', $2, $3) returning id`,
    [clinic.id, reason === null, reason],
  )
  const id = webhook?.id ?? 0
  await service.database.sql(
    'insert into webhook_queues (webhook_id, tenant_id, failing_since) values ($1, $2, $3)',
    [id, clinic.id, since],
  )
  return id
}

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
  south = await makeClinic(service, root, 'south')
})

describe('the list of what needs attention', () => {
  it('is empty in a new clinic', async () => {
    const { attention, missing } = await overview(south.people.admin)
    expect(missing).toEqual([])
    expect(attention).toMatchObject({
      registrations: { count: 0, oldest_since: null },
      webhooks: { count: 0, items: [] },
      backup_jobs: { count: 0, items: [] },
      repairs: { count: 0, severity: null, title: null, since: null },
      payment_notifications: { unverified: 0, failed: 0, oldest_since: null },
      key_rotation: null,
    })
  })

  it("counts the registrations of the caller's clinic and names the oldest one", async () => {
    for (const name of ['first', 'second'])
      await service.call('POST', '/api/auth/register', {
        body: {
          email: `${name}@waiting.test`,
          password: PASSWORD,
          full_name: name,
          role: 'nurse',
          subdomain: north.subdomain,
        },
      })
    const [oldest] = await service.database.sql<{ created_at: string }>(
      "select created_at from users where email = 'first@waiting.test'",
    )
    const expected = { count: 2, oldest_since: oldest?.created_at }
    expect((await overview(north.people.admin)).attention.registrations).toEqual(expected)
    expect((await overview(root, north.id)).attention.registrations).toEqual(expected)
    expect((await overview(south.people.admin)).attention.registrations.count).toBe(0)
  })

  it('names failing and deactivated webhooks by their host only', async () => {
    await addWebhook(north, { failingFor: 0.5 })
    await addWebhook(north, { failingFor: null })
    await addWebhook(north, { failingFor: null, reason: 'admin' })
    const failing = await addWebhook(north, { failingFor: 26 })
    const deactivated = await addWebhook(north, { failingFor: 9_000, reason: 'failing' })
    const gone = await addWebhook(north, { failingFor: null, reason: 'gone' })
    const body = await overview(north.people.admin)
    const { count, items } = body.attention.webhooks
    expect(count).toBe(3)
    expect(items.map(({ id, reason }: { id: number; reason: string }) => [id, reason])).toEqual([
      [failing, 'failing'],
      [deactivated, 'deactivated'],
      [gone, 'gone'],
    ])
    expect(items[0]).toMatchObject({ host: 'lis.example:8443', tenant_id: north.id })
    expect(JSON.stringify(body)).not.toContain('secret-path')
    expect((await overview(south.people.admin)).attention.webhooks.count).toBe(0)
  })

  it('names failed jobs until a later job of the same kind completes', async () => {
    const job = (tenantId: number | null, status: string) =>
      service.database.sql(
        `with made as (
           insert into backups (id, type, tenant_id, reason, status)
           values (gen_random_uuid(), case when $1::bigint is null then 'full' else 'tenant' end, $1, 'request', 'failed')
           returning id)
         insert into backup_jobs (id, backup_id, tenant_id, kind, status, actor, options, finished_at)
         select gen_random_uuid(), id, $1, 'create', $2, '{}', '{}', now() from made`,
        [tenantId, status],
      )
    await job(north.id, 'failed')
    await job(null, 'failed')
    const own = (await overview(north.people.admin)).attention.backup_jobs
    expect(own).toMatchObject({ count: 1, items: [{ kind: 'create', tenant_id: north.id }] })
    expect((await overview(root, north.id)).attention.backup_jobs.count).toBe(2)
    expect((await overview(root, south.id)).attention.backup_jobs).toMatchObject({
      count: 1,
      items: [{ tenant_id: null }],
    })
    await job(north.id, 'completed')
    expect((await overview(north.people.admin)).attention.backup_jobs.count).toBe(0)
  })

  it("contains the proposed repair of a fault in the caller's clinic", async () => {
    const { doctor } = north.people
    await service.database.sql('update departments set head_doctor_id = $1 where id = $2', [
      doctor.id,
      north.departmentId,
    ])
    await service.database.sql('update users set is_active = false where id = $1', [doctor.id])
    await service.app.features.selfHealing.scan()
    const { repairs } = (await overview(north.people.admin)).attention
    expect(repairs).toMatchObject({ count: 1, title: expect.any(String) })
    expect(repairs.severity).not.toBeNull()
    expect((await overview(root, north.id)).attention.repairs.count).toBeGreaterThanOrEqual(1)
    expect((await overview(root, south.id)).attention.repairs.count).toBe(0)
    expect((await overview(root, root.tenant_id)).attention.repairs).toEqual(repairs)
    expect((await overview(south.people.admin)).attention.repairs.count).toBe(0)
  })

  it('shows superadmins whether former keys encrypt records although no rotation runs', async () => {
    const { sql } = service.database
    const usesOldKeys = async () =>
      (await overview(root)).attention.key_rotation.uses_old_keys as boolean
    await service.call('POST', '/api/patients', {
      token: south.people.admin.token,
      body: { full_name: 'Paula Patient', department_id: null },
    })
    expect(await usesOldKeys()).toBe(false)
    await sql('update data_keys set retired_at = now()')
    expect(await usesOldKeys()).toBe(true)
    const [rotation] = await sql<{ id: string }>(
      "insert into encryption_rotations (key_id, records_total, actor) values (1, 1, '{}') returning id",
    )
    expect(await usesOldKeys()).toBe(false)
    await sql('delete from encryption_rotations where id = $1', [rotation?.id])
    await sql('update data_keys set retired_at = null')
  })

  it('shows superadmins the unverified payment notifications that belong to no tenant', async () => {
    // The notification was stored before the provider's secret was configured.
    const { database } = service
    const config = { CARDNET_WEBHOOK_SECRET: [] }
    const earlier = await openService({ database, config, role: 'api' })
    const { status } = await senderTo(earlier)(cardnetNotice('succeeded'))
    expect(status).toBe(200)
    expect((await overview(root, north.id)).attention.payment_notifications).toMatchObject({
      unverified: 1,
      failed: 0,
      oldest_since: expect.any(String),
    })
    expect((await overview(north.people.admin)).attention.payment_notifications.unverified).toBe(0)
  })
})

describe('the counts of the overview', () => {
  it('include the latest changes of the clinic with names, without reads and sign-ins', async () => {
    const { admin, nurse, doctor } = south.people
    for (const full_name of ['Renamed', 'Renamed again'])
      await service.call('PUT', `/api/admin/users/${nurse.id}`, {
        token: admin.token,
        body: { full_name },
      })
    await service.call('GET', '/api/patients', { token: doctor.token })
    await service.call('POST', '/api/auth/login', {
      body: { email: nurse.email, password: PASSWORD, subdomain: south.subdomain },
    })
    const latest = async (person: Person, tenantId?: number) =>
      (await overview(person, tenantId)).counts.latest_changes.items
    const [first, second, ...others] = await latest(admin)
    for (const change of [first, second])
      expect(change).toMatchObject({
        action: 'user.updated',
        tenant_id: south.id,
        user_id: admin.id,
        resource_id: String(nurse.id),
        resource_name: 'Renamed again',
      })
    expect(first.id).toBeGreaterThan(second.id)
    expect(others.length).toBeLessThanOrEqual(3)
    expect((await latest(root, south.id))[0]).toMatchObject({ id: first.id })
    for (const { tenant_id } of await latest(north.people.admin)) expect(tenant_id).toBe(north.id)
  })

  it('include waiting deliveries', async () => {
    const id = await addWebhook(south, { failingFor: null })
    await service.database.sql(
      `insert into webhook_deliveries (tenant_id, webhook_id, entry_id, event_at, event, status, due_at)
       select $1, $2, n, now(), 'user.updated', case when n <= 2 then 'pending' else 'failed' end,
         case when n <= 2 then now() end
       from generate_series(1, 5) n`,
      [south.id, id],
    )
    const { counts } = await overview(south.people.admin)
    expect(counts.webhooks).toMatchObject({ active: 1, total: 1, waiting: 2 })
    expect((await overview(root)).counts.webhooks).toBeNull()
  })

  it('include users, departments and patients of the clinic', async () => {
    const { counts } = await overview(south.people.admin)
    const [{ active } = { active: 0 }] = await service.database.sql<{ active: number }>(
      'select count(*) as active from users where tenant_id = $1 and is_active',
      [south.id],
    )
    expect(counts.users).toEqual({ active: Number(active), is_estimate: false })
    expect(counts.departments).toEqual({ total: 1, is_estimate: false })
    expect(counts.patients.is_estimate).toBe(false)
  })
})

it('the overview explains why a component is unhealthy, in the words of the health report', async () => {
  const { sql } = service.database
  await sql("update installation set outbound_held_at = now() - interval '1 hour'")
  const held = await openService({ database: service.database, role: 'api' })
  await sql('update installation set outbound_held_at = null')
  const ask = async (path: string) => (await held.call('GET', path, { token: root.token })).body
  const [{ health }, report] = [await ask(PATH), await ask('/api/admin/health')]
  const names = health.components.map(({ name }: { name: string }) => name)
  expect(names).toEqual(Object.keys(report.checks))
  for (const components of [health.components, report.components]) {
    const outbound = components.find(({ name }: { name: string }) => name === 'outbound')
    expect(outbound).toMatchObject({ state: 'degraded', runbook: 'total-loss.md' })
    expect(outbound.reason).toMatch(/^Outgoing mails, webhooks and messages are held/)
    expect(Date.parse(outbound.since)).toBeLessThan(Date.now())
  }
})

it('the overview rejects unknown and foreign tenants', async () => {
  const call = (person: Person, tenant_id: number) =>
    service.call('GET', PATH, { token: person.token, query: { tenant_id } })
  expect((await call(north.people.admin, south.id)).status).toBe(403)
  expect((await call(root, 999_999)).status).toBe(404)
  expect((await call(north.people.auditor, north.id)).status).toBe(403)
})

it('the overview leaves out parts that cannot be loaded, and names them', async () => {
  await service.database.sql('revoke select on backup_jobs from wardkeep_app, wardkeep_platform')
  try {
    const { attention, counts, missing } = await overview(north.people.admin)
    expect(missing).toEqual(['attention.backup_jobs'])
    expect(attention.backup_jobs).toBeNull()
    expect(attention.registrations.count).toBe(2)
    expect(counts.users).not.toBeNull()
  } finally {
    await service.database.sql('grant select on backup_jobs to wardkeep_app, wardkeep_platform')
  }
})
