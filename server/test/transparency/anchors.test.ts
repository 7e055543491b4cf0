/** Anchors: one head of the platform's log vouches for the logs of all tenants. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { anchorLogs } from '../../src/features/audit/transparency/anchors.ts'
import { fresh } from '../sessions/users.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { sealAll } from '../support/sealing.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'

interface Anchor {
  id: number
  user_id: number | null
  tenant_id: number | null
  mark: string
  changes: { logs: { tenant_id: number; epoch: number; size: number; root: string }[] }
}

let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
})

beforeEach(async () => {
  clinic = await makeClinic(service, root, fresh('anchored'))
  await sealAll(service)
  await anchor()
})

const anchor = () => anchorLogs({ db: service.app.db, log: silentLog })

/** Returns the sealed anchors after an entry. */
async function anchorsAfter(id = 0): Promise<Anchor[]> {
  await sealAll(service)
  return service.database.sql<Anchor>(
    `select id, user_id, journal.tenant_id, changes, mark from journal
     join audit_leaves leaf on leaf.entry_id = journal.id
     where action = 'audit.anchored' and id > $1 order by id`,
    [id],
  )
}

const lastAnchor = async () => (await anchorsAfter()).at(-1) as Anchor

async function rename(): Promise<void> {
  const path = `/api/admin/tenants/${clinic.id}`
  const body = { name: fresh('name') }
  expect(await service.call('PUT', path, { token: root.token, body })).toMatchObject({
    status: 200,
  })
}

async function headOf(tenantId: number) {
  const { body } = await service.call('GET', '/api/admin/audit/heads', { token: root.token })
  return body.items.find(({ tenant_id }: { tenant_id: number }) => tenant_id === tenantId)
}

test('an anchor has the size and root of each log that grew, and is an entry of the system without a tenant', async () => {
  const other = await makeClinic(service, root, fresh('other'))
  await rename()
  await sealAll(service)
  const before = await lastAnchor()
  await anchor()
  const [anchored, ...more] = await anchorsAfter(before.id)
  expect(more).toEqual([])
  expect(anchored).toMatchObject({ user_id: null, tenant_id: null, mark: 'ok' })
  const logs = anchored?.changes.logs ?? []
  expect(logs.map(({ tenant_id }) => tenant_id)).toEqual(
    expect.arrayContaining([clinic.id, other.id]),
  )
  for (const { tenant_id, epoch, size, root: hash } of logs) {
    const { checkpoint, ...head } = await headOf(tenant_id)
    expect(head).toMatchObject({ epoch, size })
    expect(checkpoint.split('\n')[2]).toBe(hash)
  }
})

test('an anchor alone does not cause another one', async () => {
  const { id } = await lastAnchor()
  for (let round = 0; round < 3; round += 1) {
    await sealAll(service)
    await anchor()
  }
  expect(await anchorsAfter(id)).toEqual([])
})

test('an anchor does not include entries before they are sealed, and logs that did not grow', async () => {
  const { id } = await lastAnchor()
  await rename()
  await anchor()
  expect(
    await service.database.sql('select from journal where action = $1 and id > $2', [
      'audit.anchored',
      id,
    ]),
  ).toEqual([])
  await sealAll(service)
  await anchor()
  const [next] = await anchorsAfter(id)
  expect(next?.changes.logs.map(({ tenant_id }) => tenant_id)).toEqual([clinic.id])
})

test('several nodes at once write one anchor for each growth', async () => {
  const { id } = await lastAnchor()
  await rename()
  await sealAll(service)
  await Promise.all(Array.from({ length: 5 }, anchor))
  expect(await anchorsAfter(id)).toHaveLength(1)
})

describe('a log that was altered', () => {
  test('is not anchored, and the other logs are', async () => {
    const other = await makeClinic(service, root, fresh('other'))
    await rename()
    await sealAll(service)
    const { id } = await lastAnchor()
    const flip = () =>
      service.database.sql(
        `update audit_tiles set hashes = set_byte(hashes, 0, 255 - get_byte(hashes, 0))
         where tenant_id = $1 and level = 0`,
        [clinic.id],
      )
    await flip()
    await anchor()
    const [next] = await anchorsAfter(id)
    expect(next?.changes.logs.map(({ tenant_id }) => tenant_id)).toContain(other.id)
    expect(next?.changes.logs.map(({ tenant_id }) => tenant_id)).not.toContain(clinic.id)
    await flip()
  })

  test('is not signed after its anchor, even if nobody had requested a head', async () => {
    await service.database.sql(
      `update audit_tiles set hashes = set_byte(hashes, 0, 255 - get_byte(hashes, 0))
       where tenant_id = $1 and level = 0`,
      [clinic.id],
    )
    expect(await headOf(clinic.id)).toMatchObject({ checkpoint: null })
  })
})

test('a job writes the anchors every 10 minutes', async () => {
  const jobs = await openService({ background: ['jobs'] })
  await jobs.idle('jobs')
  const [schedule] = await jobs.database.sql<{ cron: string }>(
    "select cron from pgboss.schedule where name = 'audit.anchor'",
  )
  expect(schedule?.cron).toBe('*/10 * * * *')
})
