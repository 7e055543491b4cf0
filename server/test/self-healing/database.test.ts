/**
 * Faults of the database, found over HTTP. A security gap is fixed after confirmation, and a missing partition
 * automatically.
 */
import { beforeAll, expect, test } from 'vitest'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { scanAndConfirm } from '../support/self-healing-fixes.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let root: Person
let north: Clinic

beforeAll(async () => {
  service = await openService({ config: { SELF_HEALING: 'auto' } })
  root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
})

const scan = () => service.app.features.selfHealing.scan()

async function fixFor({ token }: Person, key: string) {
  const { body } = await service.call('GET', '/api/admin/self-healing/fixes', { token })
  return body.items.find((fix: { key: string }) => fix.key === key)
}

test('a scan finds no database fault in a service that has worked normally', async () => {
  await scan()
  const { body } = await service.call('GET', '/api/admin/self-healing/fixes', { token: root.token })
  const ours = body.items.filter(({ key }: { key: string }) => key.startsWith('database.'))
  expect(ours.map(({ key }: { key: string }) => key).toSorted()).toEqual([
    'database.indexes',
    'database.partitions',
    'database.row_security',
    'database.schema',
    'database.sequences',
    'database.writes_lost',
  ])
  for (const { key, status, occurrences, unknown } of ours)
    expect({ key, status, occurrences, unknown }).toEqual({
      ...{ key, status: 'idle', occurrences: 0, unknown: null },
    })
})

test('missing row-level security of a partition is shown to superadmins, and enabled on confirmation', async () => {
  const [part] = await service.database.sql<{ name: string }>(
    `select max(inhrelid::regclass::text) as name from pg_inherits where inhparent = 'journal'::regclass`,
  )
  await service.database.sql(`alter table ${part?.name} disable row level security`)
  await scan()
  const found = await fixFor(root, 'database.row_security')
  expect(found).toMatchObject({ status: 'proposed', severity: 'critical', occurrences: 1 })
  expect(found.evidence).toMatchObject([
    {
      subject: `row security of ${part?.name}`,
      measured: { enabled: false, forced: true },
      expected: { enabled: true, forced: true },
    },
  ])
  expect((await fixFor(north.people.admin, 'database.row_security')).evidence).toEqual([])
  const path = `/api/admin/self-healing/confirm/${found.id}`
  const confirmed = await service.call('POST', path, { token: root.token })
  expect(confirmed.body).toMatchObject({ status: 'applied', result: { repaired: 1, remaining: 0 } })
  // The finding has no tenant, so the platform's webhooks receive it.
  const told = await service.database.sql(
    `select action from journal join tenants on tenants.id = journal.tenant_id and is_platform
     where resource_type = 'fix' and resource_id = $1 order by journal.id`,
    [String(found.id)],
  )
  expect(told).toEqual([{ action: 'self_healing.proposed' }, { action: 'self_healing.applied' }])
  await scan()
  expect(await fixFor(root, 'database.row_security')).toMatchObject({ occurrences: 0 })
})

test('indexes are rebuilt while the service uses the database', async () => {
  await service.database.sql(
    `drop index users__by_name; drop index journal__by_tenant;
     update pg_index set indisvalid = false where indexrelid = 'users__search'::regclass`,
  )
  const evidence = await scanAndConfirm(service, 'database.indexes')
  expect(evidence.map(({ subject }) => subject).toSorted()).toEqual([
    'index journal__by_tenant on journal',
    'index users__by_name on users',
    'index users__search on users',
  ])
})

test('a scan advances a sequence that is too low', async () => {
  await service.database.sql("select setval('users_id_seq', 1)")
  await scan()
  expect(await fixFor(root, 'database.sequences')).toMatchObject({
    status: 'applied',
    applied_by: null,
    result: { repaired: 1, remaining: 0 },
  })
  const more = await makeClinic(service, root, 'south')
  expect(more.people.admin.id).toBeGreaterThan(north.people.admin.id)
})

test('a scan creates a missing partition', async () => {
  const [next] = await service.database.sql<{ part: string }>(
    `select max(inhrelid::regclass::text) as part from pg_inherits
     where inhparent = 'journal'::regclass and inhrelid::regclass::text <=
       to_char((now() at time zone 'UTC') + interval '1 month', '"journal_"YYYY_MM')`,
  )
  await service.database.sql(`drop table ${next?.part}`)
  await scan()
  expect(await fixFor(root, 'database.partitions')).toMatchObject({ status: 'applied' })
  expect(
    await service.database.sql(`select to_regclass('${next?.part}') is not null as there`),
  ).toEqual([{ there: true }])
})
