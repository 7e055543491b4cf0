/** An administrator's day: signs in, reads the lists, and creates, changes and blocks records. */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Clinic, makeClinic, type Person, signIn, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
})

describe('users', () => {
  test('lets an administrator create a user, who signs in and is then blocked', async () => {
    const { token } = clinic.people.admin
    const created = await service.call('POST', '/api/admin/users', {
      token,
      body: {
        email: 'new@north.test',
        password: 'a-Fine-Secret-3',
        full_name: ' New Person ',
        role: 'nurse',
      },
    })
    expect(created.status).toBe(201)
    expect(created.body).toMatchObject({
      full_name: 'New Person',
      tenant_id: clinic.id,
      is_active: true,
      status: 'active',
      email_verified: false,
      totp_enabled: false,
    })
    const session = await signIn(service, {
      email: 'NEW@north.test',
      password: 'a-Fine-Secret-3',
      subdomain: 'north',
    })
    const me = await service.call('GET', '/api/users/me', { token: session.access_token })
    expect(me.body).toMatchObject({
      email: 'new@north.test',
      status: 'active',
      department_name: null,
    })

    const blocked = await service.call('POST', `/api/admin/users/${created.body.id}/block`, {
      token,
    })
    expect(blocked.body).toMatchObject({ is_active: false, status: 'blocked' })
    const after = await service.call('GET', '/api/users/me', { token: session.access_token })
    expect(after.status).toBe(401)
    expect(after.headers['www-authenticate']).toContain('invalid_token')
    const refused = await service.call('POST', '/api/auth/login', {
      body: { email: 'new@north.test', password: 'a-Fine-Secret-3', subdomain: 'north' },
    })
    expect(refused).toMatchObject({ status: 403, body: { code: 'account_blocked' } })
  })
})
