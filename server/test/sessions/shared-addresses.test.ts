/**
 * The same e-mail address at several clinics, without a tenant in the request. The password selects the account, and
 * the answers reveal no other account.
 */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { askForLink, form, newTenant, PROXIED, post } from '../accounts/people.ts'
import { forgive, mailsTo } from '../support/accounts.ts'
import { PASSWORD, type Person, superadmin } from '../support/clinics.ts'
import { confirmAddress } from '../support/people.ts'
import { openService, type Service, SUPERADMIN } from '../support/service.ts'
import { fresh } from './users.ts'

const OTHER = 'another-Horse-5'

let service: Service
let root: Person
let open: { id: number; subdomain: string }

beforeAll(async () => {
  service = await openService({ background: ['jobs'], config: PROXIED })
  root = await superadmin(service)
  open = await newTenant(service, root.token, { registration: 'open' })
})

beforeEach(() => forgive(service))

const login = (email: string, password = PASSWORD, subdomain?: string, from?: string) =>
  post(service, '/api/auth/login', {
    body: { email, password, subdomain },
    ...(from ? { from } : {}),
  })

async function register(email: string, password: string, at = open): Promise<number> {
  const body = form(at.subdomain, { email, password })
  const answer = await post(service, '/api/auth/register', { body })
  expect(answer.status).toBe(201)
  return answer.body.id
}

async function create(email: string, password = PASSWORD, tenantId?: number): Promise<number> {
  const tenant_id = tenantId ?? (await newTenant(service, root.token, {})).id
  const answer = await service.call('POST', '/api/admin/users', {
    token: root.token,
    body: { email, password, full_name: 'Somebody', role: 'nurse', tenant_id },
  })
  expect(answer.status).toBe(201)
  return answer.body.id
}

describe("a stranger who registers the superadmin's address in another tenant", () => {
  test("blocks neither the superadmin's sign-in nor the superadmin's reset mails", async () => {
    const { email, password } = SUPERADMIN
    await register(email, OTHER)
    await create(email, OTHER)
    expect(await login(email, password)).toMatchObject({ status: 200, body: { user_id: root.id } })
    await askForLink(service, 'request-reset', email)
    await service.idle('jobs')
    // Only the account with a confirmed address gets a mail.
    const mails = await mailsTo(service, email)
    expect(mails.filter(({ text }) => text?.includes('/reset-password'))).toHaveLength(1)
  })

  test('sees nothing of other clinics, and signs in to their own account as usual', async () => {
    const [alone, shared] = [`${fresh('alone')}@a.test`, `${fresh('shared')}@a.test`]
    await create(shared)
    for (const email of [alone, shared]) {
      const id = await register(email, OTHER)
      expect(await login(email, OTHER)).toMatchObject({ status: 200, body: { user_id: id } })
      const wrong = await login(email, 'wrong-Horse-1')
      expect(wrong).toMatchObject({ status: 401, body: { code: 'invalid_credentials' } })
    }
  })

  test('does not reset the failure count of the superadmin by signing in to their own account', async () => {
    const email = `${fresh('victim')}@a.test`
    await create(email)
    await register(email, OTHER)
    const from = '203.0.113.200'
    expect((await login(email, OTHER, undefined, from)).status).toBe(200)
    for (let times = 0; times < 5; times += 1) {
      expect((await login(email, 'wrong-Horse-1', undefined, from)).status).toBe(401)
      if (times < 4) expect((await login(email, OTHER, undefined, from)).status).toBe(200)
    }
    expect((await login(email, 'wrong-Horse-1', undefined, from)).status).toBe(429)
    // At an IP address that is not known for the victim, even the correct password has to wait.
    expect((await login(email, PASSWORD, undefined, from)).status).toBe(429)
  })

  test('locks nobody out, however many accounts they create', async () => {
    const email = `${fresh('owner')}@a.test`
    const id = await create(email)
    for (let made = 0; made < 4; made += 1) {
      const tenant = await newTenant(service, root.token, { registration: 'open' })
      await register(email, OTHER, tenant)
    }
    expect(await login(email)).toMatchObject({ status: 200, body: { user_id: id } })
  })
})

test('a wrong password is journaled in each clinic whose account was tried', async () => {
  const email = `${fresh('tried')}@a.test`
  const ids = [await create(email), await create(email)]
  expect((await login(email, 'wrong-Horse-1')).status).toBe(401)
  // The journal entry of one clinic reveals nothing about the other clinic.
  expect((await login(email)).status).toBe(200)
  const entries = await service.database.sql(
    `select u.id, j.user_id, j.tenant_id = u.tenant_id as is_own, j.changes from journal j
     join users u on u.id = j.resource_id::bigint
     where j.action = 'auth.login_failed' and j.user_email = $1 order by u.id`,
    [email],
  )
  const changes = { reason: 'invalid_credentials' }
  expect(entries).toEqual(ids.map((id) => ({ id, user_id: null, is_own: true, changes })))
})

describe('a correct password that several accounts with one address share', () => {
  test('always signs in to the oldest matching account', async () => {
    const email = `${fresh('both')}@a.test`
    const id = await create(email)
    await create(email)
    for (let times = 0; times < 5; times += 1)
      expect(await login(email)).toMatchObject({ status: 200, body: { user_id: id } })
  })

  test('signs in to the second or third account if it is correct only there', async () => {
    const email = `${fresh('third')}@a.test`
    const passwords = ['first-Horse-11', 'second-Horse-22', 'third-Horse-333']
    const ids: number[] = []
    for (const password of passwords) ids.push(await create(email, password))
    for (const [index, password] of passwords.entries())
      expect(await login(email, password)).toMatchObject({ body: { user_id: ids[index] } })
  })

  test('reports the block of a blocked account, unless another account matches', async () => {
    const email = `${fresh('blocked')}@a.test`
    const block = (id: number) =>
      service.call('POST', `/api/admin/users/${id}/block`, { token: root.token })
    const first = await create(email)
    await block(first)
    expect(await login(email)).toMatchObject({ status: 403, body: { code: 'account_blocked' } })
    const second = await create(email)
    expect(await login(email)).toMatchObject({ status: 200, body: { user_id: second } })
  })
})

test('reset mails to one mailbox are limited, with and without a tenant in the request', async () => {
  const email = `${fresh('mailbox')}@a.test`
  const tenant = await newTenant(service, root.token, {})
  await confirmAddress(service, await create(email, PASSWORD, tenant.id))
  for (let times = 0; times < 3; times += 1) {
    await askForLink(service, 'request-reset', email)
    await askForLink(service, 'request-reset', email, tenant.subdomain)
  }
  await service.idle('jobs')
  const mails = await mailsTo(service, email)
  expect(mails.filter(({ subject }) => subject === 'Choose a new password')).toHaveLength(3)
})
