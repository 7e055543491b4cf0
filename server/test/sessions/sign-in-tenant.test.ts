/** The tenant of a sign-in: from the request, the host name, the only tenant, or the account. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { forgive } from '../support/accounts.ts'
import {
  type Clinic,
  makeClinic,
  PASSWORD,
  type Person,
  signIn,
  superadmin,
} from '../support/clinics.ts'
import { migratedDatabase } from '../support/database.ts'
import { openService, type Service } from '../support/service.ts'
import { newColleague, newPerson } from './users.ts'

let service: Service
let root: Person
let north: Clinic
let south: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
  south = await makeClinic(service, root, 'south')
  for (const { id } of [north, south])
    await service.call('POST', '/api/admin/users', {
      token: root.token,
      body: {
        email: 'both@clinics.test',
        password: PASSWORD,
        full_name: 'Of Both',
        role: 'nurse',
        tenant_id: id,
      },
    })
})

// Resets the throttles, because this address makes more failed sign-ins than the limit allows.
beforeEach(() => forgive(service))

const login = (body: object, host?: string) =>
  service.call('POST', '/api/auth/login', { body, ...(host ? { headers: { host } } : {}) })
const both = { email: 'both@clinics.test', password: PASSWORD }

describe('the tenant of a sign-in is', () => {
  test('the tenant named in the request', async () => {
    for (const { id, subdomain } of [north, south]) {
      const answer = await login({ ...both, subdomain })
      expect(answer).toMatchObject({ status: 200, body: { tenant_id: id } })
    }
  })

  test.each(['NORTH', ' north ', 'North'])(
    'the tenant in the request written as "%s"',
    async (subdomain) => {
      expect(await login({ ...both, subdomain })).toMatchObject({ body: { tenant_id: north.id } })
    },
  )

  test.each(['north.wardkeep.test', 'NORTH.wardkeep.test', 'north.wardkeep.test:8080'])(
    'the tenant of the host %s',
    async (host) => {
      expect(await login(both, host)).toMatchObject({ status: 200, body: { tenant_id: north.id } })
    },
  )

  test('the tenant in the request if the host names another one', async () => {
    const answer = await login({ ...both, subdomain: 'south' }, 'north.wardkeep.test')
    expect(answer).toMatchObject({ status: 200, body: { tenant_id: south.id } })
  })

  test.each([
    'wardkeep.test',
    'elsewhere.test',
    'north.elsewhere.test',
    'a.north.wardkeep.test',
    'northwardkeep.test',
  ])('the tenant of the account if the host %s names no tenant', async (host) => {
    const { email, password, id } = north.people.nurse
    expect(await login({ email, password }, host)).toMatchObject({ body: { user_id: id } })
    expect(await login(both, host)).toMatchObject({ body: { tenant_id: north.id } })
  })

  test.each([undefined, null, '', '  '])(
    'the tenant of the only account if the subdomain in the request is %j',
    async (subdomain) => {
      const { email, password, id } = south.people.doctor
      const answer = await login({
        email,
        password,
        ...(subdomain === undefined ? {} : { subdomain }),
      })
      expect(answer).toMatchObject({ status: 200, body: { user_id: id, tenant_id: south.id } })
    },
  )

  test('unknown if the tenant in the request is unknown or deleted', async () => {
    const gone = await makeClinic(service, root, 'gone')
    const { email, password } = gone.people.nurse
    await service.call('DELETE', `/api/admin/tenants/${gone.id}`, { token: root.token })
    for (const body of [
      { email, password, subdomain: 'gone' },
      { email, password },
      { ...both, subdomain: 'nowhere' },
    ])
      expect(await login(body)).toMatchObject({
        status: 401,
        body: { code: 'invalid_credentials' },
      })
  })
})

describe('a sign-in in single-tenant mode', () => {
  test('finds the only tenant, or the platform if the request names the platform', async () => {
    const single = await openService({
      database: await migratedDatabase(),
      config: { TENANT_MODE: 'single' },
    })
    const operator = await superadmin(single)
    const clinic = await makeClinic(single, operator, 'only')
    const { email, password, id } = clinic.people.nurse
    const answer = await single.call('POST', '/api/auth/login', { body: { email, password } })
    expect(answer).toMatchObject({ status: 200, body: { user_id: id } })
    const body = { email: operator.email, password: operator.password }
    expect((await single.call('POST', '/api/auth/login', { body })).status).toBe(401)
    expect(await signIn(single, { ...body, subdomain: 'platform' })).toMatchObject({
      role: 'superadmin',
    })
    const { body: capabilities } = await single.call('GET', '/api/auth/capabilities')
    expect(capabilities.tenant_mode).toBe(false)
  })
})

describe('a sign-in', () => {
  test('returns the user who has signed in', async () => {
    const person = await newColleague(service, north, 'receptionist')
    const { status, body } = await login({ ...person, subdomain: 'north' })
    expect(status).toBe(200)
    expect(body).toEqual({
      access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      refresh_token: expect.stringMatching(new RegExp(`^${north.id}\\.[\\w-]{43}$`)),
      token_type: 'bearer',
      expires_in: 900,
      tenant_id: north.id,
      user_id: person.id,
      role: 'receptionist',
      full_name: person.email,
      demo_mode: false,
      enrolment_required: false,
      password_change_required: false,
    })
  })

  test('finds the address in any letter case and with surrounding spaces', async () => {
    const { email, password, id } = north.people.auditor
    for (const typed of [email.toUpperCase(), `  ${email}\t`]) {
      const answer = await login({ email: typed, password, subdomain: 'north' })
      expect(answer).toMatchObject({ status: 200, body: { user_id: id } })
    }
  })

  test('treats composed and decomposed Unicode passwords as equal', async () => {
    const password = 'Schlüssel-Ångström-9'
    const at = { tenantId: north.id, subdomain: 'north' }
    const person = await newPerson(service, root, at)
    await service.call('PUT', `/api/admin/users/${person.id}/password`, {
      token: root.token,
      body: { password: password.normalize('NFD') },
    })
    for (const typed of [password.normalize('NFC'), password.normalize('NFD')]) {
      const answer = await login({ email: person.email, password: typed, subdomain: 'north' })
      expect(answer.status).toBe(200)
    }
  })

  test('is journaled with its session, IP address and user agent', async () => {
    const answer = await service.call('POST', '/api/auth/login', {
      body: { ...both, subdomain: 'north' },
      headers: { 'user-agent': 'Journal Browser' },
    })
    const entries = await service.database.sql(
      `select tenant_id, user_id, user_email, resource_type, ip, user_agent from journal
       where action = 'auth.login' and request_id = $1`,
      [answer.headers['x-request-id']],
    )
    expect(entries).toEqual([
      {
        tenant_id: north.id,
        user_id: answer.body.user_id,
        user_email: 'both@clinics.test',
        resource_type: 'session',
        ip: '127.0.0.1',
        user_agent: 'Journal Browser',
      },
    ])
  })
})
