/** What background work has left undone: scanned, proposed with evidence, confirmed, done, found no more. */
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { DAY, MINUTE } from '../../src/lib/clock.ts'
import { ownerClient } from '../../src/platform/db/index.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  // Nobody works, so nothing is mended by the way.
  service = await openService({ config: { SELF_HEALING: 'propose' } })
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
})

const scan = () => service.app.features.selfHealing.scan()

async function fixFor({ token }: Person, key: string) {
  const { body } = await service.call('GET', '/api/admin/self-healing/fixes', { token })
  return body.items.find((item: { key: string }) => item.key === key)
}

const confirm = async (key: string) => {
  const { id } = await fixFor(root, key)
  return service.call('POST', `/api/admin/self-healing/confirm/${id}`, { token: root.token })
}

test('a webhook whose receiver answers again is activated, and its admin sees it', async () => {
  const { admin } = clinic.people
  const url = 'http://127.0.0.1:9/token-in-path?key=hidden'
  const registered = await service.call('POST', '/api/webhooks/register', {
    token: admin.token,
    body: { url, events: ['*'] },
  })
  const { id } = registered.body
  await service.database.sql(
    `with w as (update webhooks set is_active = false, disabled_reason = 'failing' where id = $1)
     update webhook_queues set failing_since = $2, probed_at = now(), answered_at = now()
     where webhook_id = $1`,
    [id, new Date(service.clock.now() - 5 * DAY).toISOString()],
  )
  await scan()
  for (const person of [root, admin]) {
    const fix = await fixFor(person, 'webhooks.disabled')
    expect(fix).toMatchObject({ status: 'proposed', automatic: false })
    expect(fix.evidence).toHaveLength(1)
    expect(fix.evidence[0]).toMatchObject({ subject: `webhook ${id}` })
    expect(JSON.stringify(fix)).not.toMatch(/127\.0\.0\.1|token-in-path|hidden|@/)
  }
  const { status, body } = await confirm('webhooks.disabled')
  expect(status).toBe(200)
  expect(body).toMatchObject({
    status: 'applied',
    result: { repaired: 1, failed: 0, remaining: 0 },
  })
  expect(
    await service.database.sql('select is_active, disabled_reason from webhooks where id = $1', [
      id,
    ]),
  ).toEqual([{ is_active: true, disabled_reason: null }])
  await scan()
  expect((await fixFor(admin, 'webhooks.disabled')).evidence).toEqual([])
  expect((await confirm('webhooks.disabled')).status).toBe(409)
})

test('jobs that were given up wait for one more attempt, and mails are only told of', async () => {
  await service.database.sql(
    `insert into pgboss.job (name, state, data, output, retry_limit, retry_count, completed_on, policy)
     select name, 'failed', '{"email": "anna@clinic.test"}', '{"name": "Error", "code": "EFAR"}',
       5, 5, now(), 'short' from unnest(array['webhooks.retry-now', 'mail.send']) name`,
  )
  await scan()
  const told = await fixFor(root, 'jobs.too_late')
  expect(told).toMatchObject({ status: 'idle', repairable: false })
  const proposed = await fixFor(root, 'jobs.given_up')
  expect(proposed).toMatchObject({ status: 'proposed', automatic: false })
  for (const { evidence } of [told, proposed]) {
    expect(evidence[0].measured).toMatchObject({ jobs: 1, error: 'Error EFAR' })
    expect(JSON.stringify(evidence)).not.toContain('anna')
  }
  expect((await confirm('jobs.given_up')).body).toMatchObject({
    status: 'applied',
    result: { repaired: 1, remaining: 0 },
  })
  const states = await service.database.sql(
    `select name, state from pgboss.job where name in ('webhooks.retry-now', 'mail.send')
     and data ? 'email' order by name`,
  )
  expect(states).toEqual([
    { name: 'mail.send', state: 'failed' },
    { name: 'webhooks.retry-now', state: 'retry' },
  ])
  await scan()
  expect((await fixFor(root, 'jobs.given_up')).evidence).toEqual([])
  expect((await fixFor(clinic.people.admin, 'jobs.too_late')).evidence).toEqual([])
})

test('a connection that holds the readers back is named, and ended once that is confirmed', async () => {
  const other = ownerClient(service.database.address)
  other.on('error', () => undefined)
  await other.connect()
  onTestFinished(() => other.end().catch(() => undefined))
  await other.query("set application_name = 'import'; begin; select pg_current_xact_id()")
  const renamed = await service.call('PUT', `/api/admin/tenants/${clinic.id}`, {
    token: root.token,
    body: { name: 'Clinic of the north' },
  })
  expect(renamed.status).toBe(200)
  // What is read up to there waits for nobody.
  await service.database.sql(
    `update journal_consumers c set (xid, id) = (
       select j.xid, j.id from journal j where j.xid < (
         select xid from journal where action = 'tenant.updated' order by id desc limit 1)
       order by j.xid desc, j.id desc limit 1)`,
  )
  service.clock.advance(10 * MINUTE)
  await scan()
  const found = await fixFor(root, 'journal.held_back')
  expect(found).toMatchObject({ status: 'proposed', severity: 'high', occurrences: 1 })
  expect(found.evidence[0].measured).toMatchObject({ application: 'import' })
  expect((await fixFor(clinic.people.admin, 'journal.held_back')).evidence).toEqual([])
  expect((await confirm('journal.held_back')).body).toMatchObject({
    status: 'applied',
    result: { repaired: 1, failed: 0, remaining: 0 },
  })
  await expect(other.query('commit')).rejects.toThrow()
  await scan()
  expect((await fixFor(root, 'journal.held_back')).occurrences).toBe(0)
})
