/** A registration that waits for approval: it is told from a blocked user until somebody decides. */
import { beforeAll, describe, expect, test } from 'vitest'
import { superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { login, newTenant, PROXIED, register } from './people.ts'

let service: Service
let token: string
let tenant: Awaited<ReturnType<typeof newTenant>>

beforeAll(async () => {
  service = await openService({ background: ['jobs'], config: PROXIED })
  token = (await superadmin(service)).token
  tenant = await newTenant(service, token, { registration: 'approval' })
})

const call = (method: string, path: string, options: object = {}) =>
  service.call(method, `/api/admin/users${path}`, { token, ...options })

/** Blocks or unblocks, and tells what came of it. */
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

describe('who registered', () => {
  test('is pending, wherever an administrator looks', async () => {
    const account = await register(service, tenant.subdomain)
    expect(account).toMatchObject({ is_active: false, status: 'pending' })
    expect((await call('GET', `/${account.id}`)).body.status).toBe('pending')
    const query = { tenant_id: tenant.id, search: account.email }
    expect((await call('GET', '', { query })).body.items).toMatchObject([{ status: 'pending' }])
  })

  test('is active once unblocked, blocked once blocked, and never pending again', async () => {
    const { id, email } = await register(service, tenant.subdomain)
    expect(await decide(id, 'unblock')).toBe('active')
    const { body: signedIn } = await login(service, email, tenant.subdomain)
    const me = await service.call('GET', '/api/users/me', { token: signedIn.access_token })
    expect(me.body.status).toBe('active')
    expect(await decide(id, 'block')).toBe('blocked')
    expect(await decide(id, 'unblock')).toBe('active')
    expect(await decide(id, 'block')).toBe('blocked')
  })

  test('is blocked once refused, and not twice', async () => {
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

  test('stays pending while other things of them change', async () => {
    const { id } = await register(service, tenant.subdomain)
    const renamed = await call('PUT', `/${id}`, { body: { full_name: 'Anna Nová' } })
    expect(renamed.body).toMatchObject({ full_name: 'Anna Nová', status: 'pending' })
    const promoted = await call('PUT', `/${id}/role`, { body: { role: 'doctor' } })
    expect(promoted.body).toMatchObject({ role: 'doctor', status: 'pending' })
  })

  test('is active where an older node let them in, which knows of nobody pending', async () => {
    const { id } = await register(service, tenant.subdomain)
    await service.database.sql('update users set is_active = true where id = $1', [id])
    expect((await call('GET', `/${id}`)).body.status).toBe('active')
    expect(await decide(id, 'block')).toBe('blocked')
  })
})

test('whom an administrator makes is active', async () => {
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
