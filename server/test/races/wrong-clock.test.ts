/** No irreversible deletion depends on a node's clock. Runs every scheduled job on a node whose clock is far ahead. */
import { expect, it } from 'vitest'
import { DAY } from '../../src/lib/clock.ts'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { cardnetNotice } from '../support/payments.ts'
import { signInAs } from '../support/people.ts'
import { openService, type Service, SUPERADMIN } from '../support/service.ts'

const AHEAD = 400 * DAY
/** Tables that the jobs themselves write and that contain no personal data. */
const NO_DATA = ['list_writes', 'self_healing_repairs', 'patient_cache_faults']

async function openNode(isClockWrong: boolean): Promise<Service> {
  return openService({
    background: ['jobs'],
    isClockWrong,
    // Without the secret, the service stores notifications of this provider but does not apply them.
    config: { CARDNET_WEBHOOK_SECRET: [] },
  })
}

/** Adds rows for each kind of retention, each of which a job deletes later. */
async function leaveTraces(service: Service): Promise<void> {
  const root = await superadmin(service)
  const north = await makeClinic(service, root, 'traces')
  const gone = await makeClinic(service, root, 'traces-gone')
  const { token } = north.people.admin
  const ok = async (method: string, path: string, body?: object, as = token) => {
    const answer = await service.call(method, path, { token: as, ...(body ? { body } : {}) })
    expect(answer.status, `${method} ${path}`).toBeLessThan(300)
    return answer.body
  }
  const patient = await ok('POST', '/api/patients', { full_name: 'Paula Patient' })
  await ok('DELETE', `/api/patients/${patient.id}`)
  await ok('DELETE', `/api/admin/tenants/${gone.id}`, undefined, root.token)
  await ok('POST', '/api/auth/logout', undefined, north.people.nurse.token)
  await service.call('POST', '/webhooks/cardnet', { body: cardnetNotice('succeeded') })
  const hook = await ok('POST', '/api/webhooks/register', {
    url: 'http://127.0.0.1:9/hook',
    events: ['*'],
  })
  await ok('PUT', `/api/webhooks/${hook.id}`, { secret: 'another-secret-of-16' })
  await ok('POST', '/api/admin/backup/create', {})
  await service.idle('jobs')
}

async function rowCounts({ database }: Service): Promise<Record<string, number>> {
  const tables = await database.sql<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
     where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace
     order by 1`,
  )
  const counts: Record<string, number> = {}
  for (const { name } of tables.filter((table) => !NO_DATA.includes(table.name))) {
    const [row] = await database.sql<{ count: number }>(
      `select count(*)::int as count from ${name}`,
    )
    counts[name] = row?.count ?? 0
  }
  return counts
}

/** Enqueues a job of every kind that has a schedule or deletes data, and waits until all have run. */
async function runJobs(service: Service): Promise<void> {
  await service.database.sql(
    `insert into pgboss.job (name, data, policy, retry_limit)
     select name, '{}', policy, 0 from pgboss.queue
     where name in (select name from pgboss.schedule) or name = 'backups.outdated'`,
  )
  await service.idle('jobs')
}

/** Returns the tables that have fewer rows after the jobs than before. */
async function shrunk(service: Service): Promise<string[]> {
  const before = await rowCounts(service)
  service.clock.advance(AHEAD)
  await runJobs(service)
  const after = await rowCounts(service)
  return Object.keys(before).filter((name) => Number(after[name]) < Number(before[name]))
}

it('the purge deletes nothing on a node whose clock is ahead, and reports the wrong clock', async () => {
  const service = await openNode(true)
  await leaveTraces(service)
  expect(await shrunk(service)).toEqual([])
  const failed = service.logged.filter(
    ([, fields]) => (fields as { err?: Error }).err?.name === 'ClockSkewError',
  )
  expect(failed.length).toBeGreaterThan(5)
  const { token } = await signInAs(service, { ...SUPERADMIN, subdomain: 'platform' })
  const health = await service.call('GET', '/api/admin/health', { token })
  expect(health.body).toMatchObject({ status: 'degraded', checks: { clock: 'degraded' } })
})

it('the purge deletes expired rows on a node whose clock is correct', async () => {
  const service = await openNode(false)
  await leaveTraces(service)
  expect(await shrunk(service)).toEqual(
    expect.arrayContaining([
      'patients',
      'tenants',
      'sessions',
      'payment_notifications',
      'webhook_secrets',
    ]),
  )
})
