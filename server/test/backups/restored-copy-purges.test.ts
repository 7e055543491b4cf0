/**
 * A restored copy does not purge, and does not delete from a store that may belong to the original, until an operator
 * releases the copy. The days in which a deletion can be undone count from the release.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { DAY } from '../../src/lib/clock.ts'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { migratedDatabase } from '../support/database.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

const DESTROYING = ['backups.outdated', 'patients.purge', 'tenants.purge']

let service: Service

const sql = (text: string, ...values: unknown[]) => service.database.sql<any>(text, values)

/** Adds a job to the queue, as the schedule or a completed backup does. */
const enqueue = (kind: string) =>
  sql(`insert into pgboss.job (name, policy) values ($1, 'short') on conflict do nothing`, kind)
const waiting = async (kinds = DESTROYING) =>
  (await sql('select name from pgboss.job where name = any($1) order by name', kinds)).map(
    ({ name }) => name,
  )
const done = (...kinds: string[]) =>
  until(`${kinds} to be done`, async () => (await waiting(kinds)).length === 0 || undefined, 60_000)
async function run(...kinds: string[]): Promise<void> {
  for (const kind of kinds) await enqueue(kind)
  await done(...kinds)
}
const deleted = async () =>
  (
    await sql(`select subdomain as name from tenants where deleted_at is not null union all
      select 'a patient' from patients where deleted_at is not null order by name`)
  ).map(({ name }) => name)
const notes = async () =>
  (await readdir(join(service.dataDir, 'backups')).catch(() => [])).filter((name) =>
    name.startsWith('purged-'),
  )

beforeAll(async () => {
  const database = await migratedDatabase()
  await database.sql('update installation set outbound_held_at = now()')
  await database.sql('insert into purged_tenants (id) values (4711)')
  service = await openService({ background: ['backups', 'jobs'], database })
  const root = await superadmin(service)
  const north = await makeClinic(service, root, 'north')
  const { token } = north.people.admin
  const patient = { full_name: 'Paula Patient', department_id: north.departmentId }
  await service.call('POST', '/api/patients', { token, body: patient })
  await sql(`update patients set deleted_at = now() - interval '40 days'`)
  await sql(
    `insert into tenants (name, subdomain, is_active, deleted_at, purge_started_at) values
       ('Put back since', 'west', false, now() - interval '40 days', null),
       ('Half destroyed', 'half', false, now() - interval '40 days', now() - interval '10 days')`,
  )
})

test('a restored copy that is paused purges nothing, deletes no backup and writes no purge note', async () => {
  for (const kind of DESTROYING) await enqueue(kind)
  // Two runs of this job show that the poller has skipped the paused jobs.
  await run('auth.purge')
  await run('auth.purge')
  expect(await waiting()).toEqual(DESTROYING)
  expect(await deleted()).toEqual(['a patient', 'half', 'west'])
  expect(await notes()).toEqual([])
})

test('a restored copy starts the retention days again when it is released, and purges afterwards', async () => {
  expect(await service.app.hold.release()).toBe(true)
  await done(...DESTROYING)
  expect(await deleted()).toEqual(['a patient', 'west'])
  await until('the store to have the note', async () =>
    (await notes()).includes('purged-4711.json') ? true : undefined,
  )
  // The clinic deleted long ago gets no event, because its webhooks are served only for an hour after deletion.
  expect(
    await service.database.sql("select from tenants where deleted_at > now() - interval '1 hour'"),
  ).toEqual([])
  service.clock.advance(29 * DAY)
  await run('patients.purge', 'tenants.purge')
  expect(await deleted()).toEqual(['a patient', 'west'])
  service.clock.advance(2 * DAY)
  await run('patients.purge', 'tenants.purge')
  expect(await deleted()).toEqual([])
})
