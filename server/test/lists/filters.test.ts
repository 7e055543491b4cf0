/** Filters of lists: users by status, and the audit log by several actions. */
import { beforeAll, expect, it } from 'vitest'
import { enrol } from '../second-factor/enrol.ts'
import { type Clinic, makeClinic, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let north: Clinic

const get = (path: string, query: Record<string, string | number | boolean>) =>
  service.call('GET', path, { token: north.people.admin.token, query })
const post = (path: string, body?: object) =>
  service.call('POST', path, { token: north.people.admin.token, ...(body ? { body } : {}) })

beforeAll(async () => {
  service = await openService()
  const root = await superadmin(service)
  north = await makeClinic(service, root, 'filters')
  await post(`/api/admin/users/${north.people.nurse.id}/block`)
  await enrol(service, north.people.doctor.token)
  await service.database.sql('update users set email_verified_at = null where id = $1', [
    north.people.receptionist.id,
  ])
  const registered = await service.call('POST', '/api/auth/register', {
    body: {
      email: 'waiting@filters.test',
      password: 'Quiet-Harbour-60',
      full_name: 'Wanda Waiting',
      role: 'nurse',
      subdomain: north.subdomain,
    },
  })
  expect(registered.status).toBe(201)
})

const emails = async (query: Record<string, string | number | boolean>) => {
  const { status, body } = await get('/api/admin/users', { limit: 100, ...query })
  expect(status).toBe(200)
  return body.items.map((user: { email: string }) => user.email)
}

it.each(['active', 'blocked', 'pending'])(
  'the user list can contain only users whose status is %s',
  async (status) => {
    const { body } = await get('/api/admin/users', { limit: 100 })
    const expected = body.items.filter((user: { status: string }) => user.status === status)
    expect(expected.length).toBeGreaterThan(0)
    expect(await emails({ status })).toEqual(expected.map(({ email }: { email: string }) => email))
  },
)

it('the user list can be filtered by department, confirmed address and second factor', async () => {
  const { people } = north
  expect(await emails({ totp_enabled: true })).toEqual([people.doctor.email])
  expect(await emails({ totp_enabled: false })).not.toContain(people.doctor.email)
  expect(await emails({ email_verified: false })).toEqual([
    people.receptionist.email,
    'waiting@filters.test',
  ])
  expect(await emails({ department_id: north.departmentId })).not.toContain('waiting@filters.test')
  expect(await emails({ department_id: 999_999 })).toEqual([])
})

it('the totals change when a user stops matching one filter and starts to match another', async () => {
  const total = async (query: object) =>
    (await get('/api/admin/users', { limit: 1, ...query })).body.total
  const blocked = await total({ status: 'blocked' })
  await post(`/api/admin/users/${north.people.nurse.id}/unblock`)
  expect(await total({ status: 'blocked' })).toBe(blocked - 1)
  await post(`/api/admin/users/${north.people.nurse.id}/block`)
  expect(await total({ status: 'blocked' })).toBe(blocked)
  const verified = await total({ email_verified: true })
  await service.database.sql('update users set email_verified_at = now() where id = $1', [
    north.people.receptionist.id,
  ])
  expect(await total({ email_verified: true })).toBe(verified + 1)
})

it.each([
  ['status', 'Blocked'],
  ['department_id', 'x'],
  ['email_verified', 'maybe'],
])('the filter %s=%s is rejected', async (name, value) => {
  const { status, body } = await get('/api/admin/users', { [name]: value })
  expect(status).toBe(422)
  expect(body.detail[0].loc).toEqual(['query', name])
})

const actions = async (query: object) => {
  const { status, body } = await get('/api/admin/audit', { limit: 100, ...query })
  expect(status).toBe(200)
  return new Set(body.items.map((entry: { action: string }) => entry.action))
}

it('the audit log can be filtered by several actions and action groups', async () => {
  expect(await actions({ action: 'user.blocked,user.registered' })).toEqual(
    new Set(['user.blocked', 'user.registered']),
  )
  const users = await actions({ action: 'user.*' })
  expect(users).toContain('user.created')
  expect([...users].every((action) => String(action).startsWith('user.'))).toBe(true)
  expect(await actions({ action: 'auth.totp_enabled, department.*' })).toEqual(
    new Set(['auth.totp_enabled', 'department.created']),
  )
})

it.each([
  ['user.bloked', /Did you mean user\.blocked\?/],
  ['usr.*', /Did you mean user\.\*\?/],
  ['nothing', /The groups are .*user\.\*/],
  ['*', /The groups are/],
  ['', /unknown action ""/],
])('the audit log rejects the unknown action %j', async (action, sentence) => {
  const { status, body } = await get('/api/admin/audit', { action })
  expect(status).toBe(422)
  expect(body.detail[0]).toMatchObject({
    loc: ['query', 'action'],
    msg: expect.stringMatching(sentence),
  })
})

it("the audit log contains the history of one user: the user's actions, and changes to the account", async () => {
  const { nurse, admin } = north.people
  const { body } = await get('/api/admin/audit', { about_user: nurse.id, limit: 100 })
  const entries: { action: string; user_id: number; resource_id: string }[] = body.items
  for (const { user_id, resource_id } of entries)
    expect([user_id, Number(resource_id)]).toContain(nurse.id)
  expect(entries).toContainEqual(
    expect.objectContaining({
      action: 'user.blocked',
      user_id: admin.id,
      resource_id: String(nurse.id),
    }),
  )
  expect(entries).toContainEqual(expect.objectContaining({ action: 'user.created' }))
})
