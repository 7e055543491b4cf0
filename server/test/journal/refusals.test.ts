/** Refused calls: the journal contains all of them, but no caller can flood the journal with them. */
import { beforeAll, describe, expect, test } from 'vitest'
import { openRefusals } from '../../src/platform/journal/index.ts'
import { scopesOf } from '../sessions/scopes.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { signInAs } from '../support/people.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

let service: Service
let root: Person
let clinic: Clinic
let other: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'refusing')
  other = await makeClinic(service, root, 'elsewhere')
})

/** Creates a session for each test, because refusals are counted per session. */
async function newSession(role: 'nurse' | 'doctor' = 'nurse') {
  const { email, password } = clinic.people[role]
  return (await signInAs(service, { email, password, subdomain: clinic.subdomain })).token
}
const sessionOf = (token: string): string =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).jti

const refuse = async (token: string, path = '/api/admin/users', at = service) =>
  expect((await at.call('GET', path, { token })).status).toBe(403)
const refuseMany = (token: string, times: number, at = service) =>
  Promise.all(Array.from({ length: times }, () => refuse(token, '/api/admin/users', at)))

/** Returns the counts in the rows that are not in the journal yet, because their minute has not ended. */
const waiting = async (token: string): Promise<number[]> =>
  (
    await service.database.sql<{ count: number }>(
      'select count from refusals where session_id = $1 order by operation',
      [sessionOf(token)],
    )
  ).map(({ count }) => count)

interface Refused {
  resource_id: string
  changes: { code: string; count: number; first_at: string; last_at: string }
}
/** Returns the latest entries of the clinic as its auditor sees them. */
async function entries(since: number, token = clinic.people.auditor.token): Promise<Refused[]> {
  const query = { action: 'access.refused', limit: 100, sort_by: 'id', sort_order: 'asc' }
  const { items } = (await service.call('GET', '/api/admin/audit', { token, query })).body
  return items.filter(({ id }: { id: number }) => id > since)
}
const lastId = async () =>
  (await service.database.sql<{ id: number }>('select coalesce(max(id), 0) as id from journal'))[0]
    ?.id ?? 0

describe('the refused calls of a session', () => {
  test('become one journal entry per operation, even if there are five hundred, many of them concurrent', async () => {
    const token = await newSession()
    const since = await lastId()
    await refuse(token)
    await refuseMany(token, 499)
    const [entry, ...more] = await entries(since)
    expect(more).toEqual([])
    expect(entry).toMatchObject({
      resource_id: 'listUsers',
      user_id: clinic.people.nurse.id,
      changes: { code: 'role_required', count: 500 },
    })
    const { first_at = '', last_at = '' } = entry?.changes ?? {}
    expect(Date.parse(first_at)).toBeLessThanOrEqual(Date.parse(last_at))
  })

  test('become one entry for each operation', async () => {
    const token = await newSession()
    const since = await lastId()
    for (const path of ['users', 'departments', 'users']) await refuse(token, `/api/admin/${path}`)
    const found = (await entries(since)).map(({ resource_id, changes }) => [
      resource_id,
      changes.count,
    ])
    expect(found.sort()).toEqual([
      ['listDepartments', 1],
      ['listUsers', 2],
    ])
  })

  test('are in the database before the caller gets the response', async () => {
    const token = await newSession()
    for (let times = 1; times <= 5; times += 1) {
      await refuse(token)
      expect(await waiting(token)).toEqual([times])
    }
  })

  test('become another entry after a minute', async () => {
    const token = await newSession()
    const since = await lastId()
    await refuseMany(token, 3)
    service.clock.advance(61_000)
    const written = async () =>
      service.database.sql<Refused>(
        "select resource_id, changes from journal where action = 'access.refused' and id > $1",
        [since],
      )
    await refuse(token)
    expect(await waiting(token)).toEqual([1])
    expect((await written()).map(({ changes }) => changes.count)).toContain(3)
  })
})

describe('a refused call that is counted but not yet written', () => {
  test('is written to the journal automatically after a minute', async () => {
    const token = await newSession()
    await refuse(token)
    const refusals = openRefusals(scopesOf(service.database), service.clock)
    const stop = refusals.keepWritten(silentLog, 5)
    service.clock.advance(61_000)
    await until('it is written', async () => (await waiting(token)).length === 0 || undefined)
    stop()
  })

  test('is written on shutdown', async () => {
    const node = await openService({ database: service.database })
    const token = await newSession()
    await refuseMany(token, 2, node)
    expect(await waiting(token)).toEqual([2])
    await node.close()
    expect(await waiting(token)).toEqual([])
  })

  test('cannot be written by another clinic, and is not visible to other clinics', async () => {
    const token = await newSession()
    const since = await lastId()
    await refuse(token)
    expect(await entries(since, other.people.auditor.token)).toEqual([])
    expect(await waiting(token)).toEqual([1])
    expect(await entries(since)).toHaveLength(1)
  })

  test('is written even if its clinic was deleted', async () => {
    const doomed = await makeClinic(service, root, 'doomed')
    const { id, token } = doomed.people.nurse
    const since = await lastId()
    await refuse(token)
    const path = `/api/admin/tenants/${doomed.id}`
    expect((await service.call('DELETE', path, { token: root.token })).status).toBe(204)
    expect(await entries(since, root.token)).toMatchObject([
      { tenant_id: doomed.id, user_id: id, changes: { count: 1 } },
    ])
  })
})

test('several nodes together neither lose a refused call nor write it twice', async () => {
  const node = await openService({ database: service.database })
  const token = await newSession('doctor')
  const since = await lastId()
  const writers = [service, node].map(({ database, clock }) =>
    openRefusals(scopesOf(database), clock),
  )
  const rounds = Array.from({ length: 20 }, async () => {
    await refuseMany(token, 5)
    await Promise.all(writers.map((writer) => writer.writeAll()))
    await refuseMany(token, 5, node)
  })
  await Promise.all(rounds)
  const counts = (await entries(since)).map(({ changes }) => changes.count)
  expect(counts.length).toBeGreaterThan(1)
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(200)
})
