/** All refused sign-ins get the same response, unless the password is correct. */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Clinic, makeClinic, PASSWORD, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { newColleague } from './users.ts'

let service: Service
let root: Person
let clinic: Clinic
let closed: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
  closed = await makeClinic(service, root, 'closed')
  await service.call('PUT', `/api/admin/tenants/${closed.id}`, {
    token: root.token,
    body: { is_active: false },
  })
})

const login = (body: object) => service.call('POST', '/api/auth/login', { body })

describe('a sign-in with', () => {
  const wrong: [string, () => object][] = [
    [
      'a wrong password',
      () => ({ email: clinic.people.nurse.email, password: 'wrong-Horse-1', subdomain: 'north' }),
    ],
    [
      'an unknown address',
      () => ({ email: 'nobody@north.test', password: PASSWORD, subdomain: 'north' }),
    ],
    [
      'the tenant of others',
      () => ({ email: clinic.people.nurse.email, password: PASSWORD, subdomain: 'south' }),
    ],
    [
      'the platform as its tenant',
      () => ({ email: clinic.people.admin.email, password: PASSWORD, subdomain: 'platform' }),
    ],
    ['a malformed address', () => ({ email: '%', password: PASSWORD })],
    [
      'the password in another case',
      () => ({ email: clinic.people.nurse.email, password: PASSWORD.toUpperCase() }),
    ],
    [
      'a space after the password',
      () => ({ email: clinic.people.nurse.email, password: `${PASSWORD} ` }),
    ],
    [
      'a password longer than the maximum',
      () => ({ email: clinic.people.nurse.email, password: 'x'.repeat(1000) }),
    ],
    [
      'a wrong password in a deactivated tenant',
      () => ({ email: closed.people.nurse.email, password: 'wrong-Horse-1', subdomain: 'closed' }),
    ],
  ]
  test.each(wrong)('%s gets 401 with the same body as any other', async (_, body) => {
    const answer = await login(body())
    expect(answer.status).toBe(401)
    expect(answer.body).toEqual({ detail: 'Invalid credentials', code: 'invalid_credentials' })
    expect(answer.headers['www-authenticate']).toBe('Bearer')
  })

  test('is journaled with the address that was tried', async () => {
    await login({ email: 'tried@north.test', password: PASSWORD, subdomain: 'north' })
    await login({ email: 'tried@nowhere.test', password: PASSWORD, subdomain: 'nowhere' })
    const entries = await service.database.sql(
      `select tenant_id, user_id, user_email, changes from journal
       where action = 'auth.login_failed' and user_email like 'tried@%' order by id`,
    )
    const changes = { reason: 'invalid_credentials' }
    expect(entries).toEqual([
      { tenant_id: clinic.id, user_id: null, user_email: 'tried@north.test', changes },
      { tenant_id: null, user_id: null, user_email: 'tried@nowhere.test', changes },
    ])
  })
})

describe('a blocked user', () => {
  test('learns about the block only with the correct password', async () => {
    const person = await newColleague(service, clinic)
    const { token } = clinic.people.admin
    await service.call('POST', `/api/admin/users/${person.id}/block`, { token })
    const at = { email: person.email, subdomain: 'north' }
    const right = await login({ ...at, password: PASSWORD })
    expect(right).toMatchObject({ status: 403, body: { code: 'account_blocked' } })
    const guess = await login({ ...at, password: 'wrong-Horse-1' })
    expect(guess).toMatchObject({ status: 401, body: { code: 'invalid_credentials' } })
    await service.call('POST', `/api/admin/users/${person.id}/unblock`, { token })
    expect((await login({ ...at, password: PASSWORD })).status).toBe(200)
  })
})

describe('a user of a deactivated tenant', () => {
  test('learns about the deactivation only with the correct password', async () => {
    const { email } = closed.people.doctor
    const answer = await login({ email, password: PASSWORD, subdomain: 'closed' })
    expect(answer).toMatchObject({ status: 403, body: { code: 'tenant_inactive' } })
  })

  test('can sign in again once the tenant is active again', async () => {
    const path = `/api/admin/tenants/${closed.id}`
    await service.call('PUT', path, { token: root.token, body: { is_active: true } })
    const { email } = closed.people.doctor
    expect((await login({ email, password: PASSWORD, subdomain: 'closed' })).status).toBe(200)
  })
})
