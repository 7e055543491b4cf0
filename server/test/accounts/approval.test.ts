/** A registration that awaits approval has its own status, distinct from a blocked user, until an admin decides. */
import { beforeAll, describe, expect, test } from 'vitest'
import { atOnce } from '../races/race.ts'
import { newPerson } from '../sessions/users.ts'
import { type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { login, newTenant, PROXIED, register } from './people.ts'

let service: Service
let token: string
let root: Person
let tenant: Awaited<ReturnType<typeof newTenant>>

beforeAll(async () => {
  service = await openService({ background: ['jobs'], config: PROXIED })
  root = await superadmin(service)
  token = root.token
  tenant = await newTenant(service, token, { registration: 'approval' })
})

const call = (method: string, path: string, options: object = {}) =>
  service.call(method, `/api/admin/users${path}`, { token, ...options })

/** Blocks or unblocks the user. Returns the resulting status. */
async function decide(id: number, decision: 'block' | 'unblock') {
  const { status, body } = await call('POST', `/${id}/${decision}`)
  expect(status).toBe(200)
  return body.status
}

const changesOf = (id: number) =>
  service.database.sql<{ action: string; changes: any }>(
    `select action, changes from journal where resource_type = 'user' and resource_id = $1
       and action in ('user.registered', 'user.blocked', 'user.unblocked') order by id`,
    [String(id)],
  )

describe('a self-registered user', () => {
  test('is pending in every view of an administrator', async () => {
    const account = await register(service, tenant.subdomain)
    expect(account).toMatchObject({ is_active: false, status: 'pending' })
    expect((await call('GET', `/${account.id}`)).body.status).toBe('pending')
    const query = { tenant_id: tenant.id, search: account.email }
    expect((await call('GET', '', { query })).body.items).toMatchObject([{ status: 'pending' }])
  })

  test('becomes active once unblocked, is blocked once blocked, and never becomes pending again', async () => {
    const { id, email } = await register(service, tenant.subdomain)
    expect(await decide(id, 'unblock')).toBe('active')
    const { body: signedIn } = await login(service, email, tenant.subdomain)
    const me = await service.call('GET', '/api/users/me', { token: signedIn.access_token })
    expect(me.body.status).toBe('active')
    expect(await decide(id, 'block')).toBe('blocked')
    expect(await decide(id, 'unblock')).toBe('active')
    expect(await decide(id, 'block')).toBe('blocked')
  })

  test('is blocked when refused, and cannot be refused again', async () => {
    const { id, email } = await register(service, tenant.subdomain)
    expect(await decide(id, 'block')).toBe('blocked')
    expect(await decide(id, 'block')).toBe('blocked')
    expect((await login(service, email, tenant.subdomain)).body.code).toBe('account_blocked')
    expect(await changesOf(id)).toMatchObject([
      { action: 'user.registered', changes: { after: { is_active: false, status: 'pending' } } },
      {
        action: 'user.blocked',
        changes: { before: { status: 'pending' }, after: { status: 'blocked' } },
      },
    ])
  })

  test('stays pending when other fields of the user change', async () => {
    const { id } = await register(service, tenant.subdomain)
    const renamed = await call('PUT', `/${id}`, { body: { full_name: 'Anna Nová' } })
    expect(renamed.body).toMatchObject({ full_name: 'Anna Nová', status: 'pending' })
    const promoted = await call('PUT', `/${id}/role`, { body: { role: 'doctor' } })
    expect(promoted.body).toMatchObject({ role: 'doctor', status: 'pending' })
  })

  test('is active when approved by a node of an older release, which does not know the pending status', async () => {
    const { id } = await register(service, tenant.subdomain)
    await service.database.sql('update users set is_active = true where id = $1', [id])
    expect((await call('GET', `/${id}`)).body.status).toBe('active')
    expect(await decide(id, 'block')).toBe('blocked')
  })
})

test('a user created by an administrator is active', async () => {
  const body = {
    email: `made@${tenant.subdomain}.test`,
    password: 'a-Fine-Secret-3',
    full_name: 'Made',
    role: 'nurse',
    tenant_id: tenant.id,
  }
  const made = await call('POST', '', { body })
  expect(made).toMatchObject({ status: 201, body: { is_active: true, status: 'active' } })
  expect(await decide(made.body.id, 'block')).toBe('blocked')
})

describe('an approval or refusal that requires a certain status of the user', () => {
  const query = { if_status: 'pending' }

  const newAdmin = () =>
    newPerson(service, root, { tenantId: tenant.id, subdomain: tenant.subdomain, role: 'admin' })

  test('changes nothing if another administrator has already decided', async () => {
    const [first, second] = [await newAdmin(), await newAdmin()]
    const { id } = await register(service, tenant.subdomain)
    const approval = await call('POST', `/${id}/unblock`, { token: first.token, query })
    expect(approval).toMatchObject({ status: 200, body: { status: 'active' } })
    const late = { token: second.token, query }
    const refused = { status: 409, body: { code: 'status_changed' } }
    expect(await call('DELETE', `/${id}`, late)).toMatchObject(refused)
    expect(await call('POST', `/${id}/unblock`, late)).toMatchObject(refused)
    expect(await decide(id, 'block')).toBe('blocked')
    expect(await call('POST', `/${id}/unblock`, late)).toMatchObject(refused)
    expect((await call('GET', `/${id}`)).body.status).toBe('blocked')
    expect((await changesOf(id)).map(({ action }) => action)).toEqual([
      'user.registered',
      'user.unblocked',
      'user.blocked',
    ])
  })

  test('takes effect only once when two administrators decide at the same time', async () => {
    const admins = [await newAdmin(), await newAdmin()]
    const { id } = await register(service, tenant.subdomain)
    const answers = await atOnce(
      (at) => call('POST', `/${id}/unblock`, { token: admins[at % 2]?.token, query }),
      2,
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
  })

  test('deletes a pending registration', async () => {
    const { id } = await register(service, tenant.subdomain)
    expect((await call('DELETE', `/${id}`, { query })).status).toBe(204)
    expect((await call('DELETE', `/${id}`, { query })).status).toBe(404)
  })

  test('rejects an unknown status', async () => {
    const { id } = await register(service, tenant.subdomain)
    expect((await call('DELETE', `/${id}`, { query: { if_status: 'new' } })).status).toBe(422)
  })
})
