/** The filters of the audit log, alone and combined, and the names that are shown for IDs. */
import { beforeAll, describe, expect, it, vi } from 'vitest'
import type { StoredEntry } from '../../src/features/audit/audit.schema.ts'
import { addNames } from '../../src/features/audit/names.store.ts'
import { ACTIONS, type Action } from '../../src/platform/journal/index.ts'
import { scopesOf } from '../sessions/scopes.ts'
import { type Clinic, makeClinic, type Person, signIn, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

interface Entry {
  id: number
  tenant_id: number
  action: string
  user_id: number | null
  user_name: string | null
  resource_type: string
  resource_id: string | null
  resource_name: string | null
  request_id: string | null
  ip: string | null
}

let service: Service
let root: Person
let north: Clinic
let south: Clinic
/** The `X-Request-Id` of the request that blocked the nurse of each clinic. */
let blocking: string
let blockingInSouth: string

type Query = Record<string, string | number | readonly string[]>

async function list(query: Query, token = north.people.admin.token): Promise<Entry[]> {
  const { status, body } = await service.call('GET', '/api/admin/audit', {
    token,
    query: { limit: 100, ...query },
  })
  expect([status, body.detail]).toEqual([200, undefined])
  return body.items
}

async function block({ people }: Clinic): Promise<string> {
  const { admin, nurse } = people
  const path = `/api/admin/users/${nurse.id}/block`
  const { status, headers } = await service.call('POST', path, { token: admin.token })
  expect(status).toBe(200)
  return String(headers['x-request-id'])
}

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
  south = await makeClinic(service, root, 'south')
  const { token } = north.people.admin
  await service.call('POST', '/api/webhooks/register', {
    token,
    body: { url: 'http://127.0.0.1:9/secret-path?key=1', events: ['*'] },
  })
  await service.call('POST', '/api/patients', { token, body: { full_name: 'Petra Patient' } })
  await signIn(service, north.people.doctor)
  blocking = await block(north)
  blockingInSouth = await block(south)
  // One entry has another source address.
  await service.database.sql(
    `insert into journal (tenant_id, user_id, action, resource_type, resource_id, ip)
     values ($1, $2, 'user.updated', 'user', $3, '2001:db8::7')`,
    [north.id, north.people.admin.id, String(north.people.nurse.id)],
  )
})

/** The name of a person of the north clinic (`createClinic`). */
const nameOf = (role: string) => `${role} of north`

const actionsOf = (entries: readonly Entry[]) => [...new Set(entries.map(({ action }) => action))]

describe('the audit log', () => {
  it('accepts several actions, repeated or separated by commas', async () => {
    const both = ['user.blocked', 'webhook.registered']
    expect(actionsOf(await list({ action: both })).toSorted()).toEqual(both)
    expect(actionsOf(await list({ action: both.join(',') })).toSorted()).toEqual(both)
    expect(actionsOf(await list({ action: ['user.blocked', 'webhook.*,auth.login'] }))).toEqual(
      expect.arrayContaining(['auth.login', ...both]),
    )
  })

  it('accepts several action groups in addition to single actions', async () => {
    const groups = actionsOf(await list({ group: ['webhook', 'patient'] }))
    expect(groups.toSorted()).toEqual(['patient.created', 'webhook.registered'])
    const added = actionsOf(await list({ group: 'webhook', action: 'user.blocked' }))
    expect(added.toSorted()).toEqual(['user.blocked', 'webhook.registered'])
    expect(await list({ group: 'self_healing' })).toEqual([])
  })

  it("finds the entries of one request, but only in the caller's tenant", async () => {
    for (const request_id of [blocking, blocking.toUpperCase()])
      expect(await list({ request_id })).toMatchObject([
        { action: 'user.blocked', request_id: blocking },
      ])
    expect(await list({ request_id: blockingInSouth })).toEqual([])
    expect(await list({ request_id: blockingInSouth }, root.token)).toHaveLength(1)
    expect(await list({ request_id: blockingInSouth, tenant_id: north.id }, root.token)).toEqual([])
  })

  it("finds the entries from an IP address, but only in the caller's tenant", async () => {
    expect(await list({ ip: '2001:db8::7' })).toMatchObject([{ action: 'user.updated' }])
    expect(await list({ ip: '2001:db8::7' }, south.people.admin.token)).toEqual([])
    expect(await list({ ip: '192.0.2.1' })).toEqual([])
    expect((await list({ ip: '127.0.0.1' })).length).toBeGreaterThan(2)
  })

  it('combines all its filters', async () => {
    const { admin, nurse } = north.people
    const filters: Query = {
      action: ['user.*'],
      group: ['webhook'],
      user_id: admin.id,
      about_user: nurse.id,
      resource_type: 'user',
      resource_id: String(nurse.id),
      request_id: blocking,
      ip: '127.0.0.1',
      from_date: '2001-01-01',
      sort_by: 'id',
    }
    expect(await list(filters)).toMatchObject([{ action: 'user.blocked' }])
    const others: Query[] = [
      { action: ['auth.*'] },
      { user_id: nurse.id },
      { about_user: north.people.doctor.id },
      { resource_type: 'tenant' },
      { resource_id: String(admin.id) },
      { request_id: blockingInSouth },
      { ip: '2001:db8::7' },
      { to_date: '2001-01-02' },
    ]
    for (const other of others)
      expect([other, await list({ ...filters, ...other })]).toEqual([other, []])
  })

  it('keeps its filters from one page to the next', async () => {
    const query = { group: ['user', 'department'], ip: '127.0.0.1', limit: 1 }
    const { token } = north.people.admin
    const first = await service.call('GET', '/api/admin/audit', { token, query })
    const after = first.body.next
    const next = await service.call('GET', '/api/admin/audit', {
      token,
      query: { ...query, after },
    })
    expect(next.body.items[0].id).toBeLessThan(first.body.items[0].id)
    const other = { ...query, group: ['user'], after }
    expect((await service.call('GET', '/api/admin/audit', { token, query: other })).status).toBe(
      422,
    )
  })

  it("finds entries by and about a user, including other people's changes to the user's sessions", async () => {
    const { admin, doctor } = north.people
    const [session] = await service.database.sql<{ id: string }>(
      'select id from sessions where user_id = $1 limit 1',
      [doctor.id],
    )
    await service.database.sql(
      `insert into journal (tenant_id, user_id, action, resource_type, resource_id)
       values ($1, $2, 'auth.session_revoked', 'session', $3)`,
      [north.id, admin.id, session?.id],
    )
    const entries = await list({ about_user: doctor.id })
    expect(actionsOf(entries)).toEqual(
      expect.arrayContaining(['auth.session_revoked', 'auth.login', 'user.created']),
    )
    const isAbout = ({ user_id, resource_type, resource_id }: Entry) =>
      user_id === doctor.id ||
      (resource_type === 'user' && resource_id === String(doctor.id)) ||
      (resource_type === 'session' && resource_id === session?.id)
    expect(entries.filter((entry) => !isAbout(entry))).toEqual([])
    expect(await list({ about_user: doctor.id }, south.people.admin.token)).toEqual([])
  })

  it.each([
    ['group', 'users', 'query.group.0'],
    ['request_id', 'abc', 'query.request_id'],
    ['ip', '300.1.1.1', 'query.ip'],
    ['ip', 'localhost', 'query.ip'],
    ['about_user', 'x', 'query.about_user'],
  ])('rejects the filter %s=%s', async (name, value, place) => {
    const { status, body } = await service.call('GET', '/api/admin/audit', {
      token: north.people.admin.token,
      query: { [name]: value },
    })
    expect([status, body.detail[0].loc.join('.')]).toEqual([422, place])
  })
})

describe('the names shown in an audit entry', () => {
  const named = async (query: Query, token?: string) =>
    (await list(query, token)).map(({ user_name, resource_name }) => [user_name, resource_name])

  it('are the names of the user and of the resource', async () => {
    const { doctor } = north.people
    expect(await named({ request_id: blocking })).toEqual([[nameOf('admin'), nameOf('nurse')]])
    expect(await named({ action: 'webhook.registered' })).toEqual([
      [nameOf('admin'), '127.0.0.1:9'],
    ])
    const [department] = await list({ action: 'department.created' })
    expect(department?.resource_name).toEqual(expect.any(String))
    const sessions = await named({ action: 'auth.login', user_id: doctor.id })
    expect(sessions[0]).toEqual([nameOf('doctor'), nameOf('doctor')])
    const [created] = await list({ action: 'tenant.created', tenant_id: north.id }, root.token)
    expect(created?.resource_name).toEqual(expect.any(String))
  })

  it('never include a patient', async () => {
    const entries = await list({ group: 'patient' })
    expect(entries).toMatchObject([{ action: 'patient.created', resource_name: null }])
    expect(JSON.stringify(entries)).not.toContain('Petra')
  })

  it('include operators only for superadmins who list all tenants', async () => {
    const query = {
      action: 'user.created',
      resource_type: 'user',
      resource_id: String(north.people.admin.id),
    }
    const [entry] = await list(query)
    expect([entry?.user_id, entry?.user_name]).toEqual([root.id, null])
    expect((await list(query, root.token))[0]?.user_name).toEqual(expect.any(String))
  })

  it('are null for deleted records and malformed IDs', async () => {
    const { receptionist, admin } = north.people
    const path = `/api/admin/users/${receptionist.id}`
    expect((await service.call('DELETE', path, { token: admin.token })).status).toBe(204)
    expect(await named({ action: 'user.deleted' })).toEqual([[nameOf('admin'), null]])
    for (const id of ['x', '99999999999999999999', '-1', ''])
      await service.database.sql(
        `insert into journal (tenant_id, action, resource_type, resource_id)
         values ($1, 'user.updated', 'user', $2), ($1, 'auth.logout', 'session', $2)`,
        [north.id, id],
      )
    expect((await named({ resource_type: 'session', action: 'auth.logout' }))[0]).toEqual([
      null,
      null,
    ])
  })

  it('are loaded with one statement per page', async () => {
    const entries = (await list({})) as unknown as StoredEntry[]
    expect(new Set(entries.map(({ resource_type }) => resource_type)).size).toBeGreaterThan(4)
    const statements = await scopesOf(service.database, 1).inTenant(north.id, async (tx) => {
      const sent = vi.spyOn(tx.db, 'getExecutor')
      await addNames(tx, entries)
      await addNames(tx, [])
      return sent.mock.calls.length
    })
    expect(statements).toBe(1)
  })
})

describe('the list of actions in the journal', () => {
  const actions = async (token: string) =>
    service.call('GET', '/api/admin/audit/actions', { token })

  it('contains every action of the registry with its meaning, group and resource type', async () => {
    const { status, body } = await actions(north.people.auditor.token)
    expect(status).toBe(200)
    expect(body.map(({ action }: { action: string }) => action)).toEqual(Object.keys(ACTIONS))
    for (const { action, meaning, group } of body)
      expect([meaning, group]).toEqual([ACTIONS[action as Action].meaning, action.split('.')[0]])
    expect(body).toContainEqual({
      action: 'messenger.linked',
      meaning: ACTIONS['messenger.linked'].meaning,
      group: 'messenger',
      resource_type: 'user',
    })
  })

  it('is available to administrators and auditors only', async () => {
    expect((await actions(north.people.doctor.token)).status).toBe(403)
  })
})
