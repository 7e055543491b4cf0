/** The rules for tenants: subdomains, the public list, deletion and restore. */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Clinic, makeClinic, type Person, signIn, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let root: Person

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
})

const create = (body: object) =>
  service.call('POST', '/api/admin/tenants', { token: root.token, body })
const change = (id: number, body: object, token = root.token) =>
  service.call('PUT', `/api/admin/tenants/${id}`, { token, body })
const remove = (id: number) =>
  service.call('DELETE', `/api/admin/tenants/${id}`, { token: root.token })
const listed = async () => {
  const answer = await service.call('GET', '/api/auth/tenants')
  return answer.body.map((tenant: { subdomain: string }) => tenant.subdomain)
}

describe('a subdomain', () => {
  test.each(['a', '7', 'a-b', 'a--b', '0a', `${'x'.repeat(63)}`])(
    'accepts "%s"',
    async (subdomain) => {
      expect(await create({ name: 'Fine', subdomain })).toMatchObject({
        status: 201,
        body: { subdomain, is_active: true, settings: {} },
      })
    },
  )

  test.each([
    '',
    'Upper',
    '-a',
    'a-',
    'a_b',
    'a.b',
    'a b',
    'münchen',
    'x'.repeat(64),
    'a\n',
    'www',
    'api',
    'admin',
    'app',
    'static',
  ])('rejects "%s"', async (subdomain) => {
    const answer = await create({ name: 'Fine', subdomain })
    expect(answer.status).toBe(422)
    expect(answer.body.detail[0].loc).toEqual(['body', 'subdomain'])
  })

  test('conflicts with the subdomain of another tenant, even of a deleted one', async () => {
    const first = await create({ name: 'First', subdomain: 'taken' })
    const again = await create({ name: 'Second', subdomain: 'taken' })
    expect(again).toMatchObject({ status: 409, body: { code: 'subdomain_taken' } })
    expect(again.body.detail).toContain('subdomain')
    await remove(first.body.id)
    expect(await create({ name: 'Third', subdomain: 'taken' })).toMatchObject({ status: 409 })
    expect(await create({ name: 'Platform', subdomain: 'platform' })).toMatchObject({ status: 409 })
  })
})

describe('the name of a tenant', () => {
  test('is trimmed and has 1 to 200 characters', async () => {
    expect(await create({ name: '  Trimmed \t', subdomain: 'trimmed' })).toMatchObject({
      status: 201,
      body: { name: 'Trimmed' },
    })
    const longest = '👩🏽'.repeat(100)
    expect(await create({ name: longest, subdomain: 'longest' })).toMatchObject({
      status: 201,
      body: { name: longest },
    })
    for (const name of ['', ' \n ', 'x'.repeat(201)])
      expect([name, (await create({ name, subdomain: 'nameless' })).status]).toEqual([name, 422])
  })
})

describe('the public lists of tenants and departments', () => {
  test('contain active tenants that are not hidden, and never the platform tenant', async () => {
    await create({ name: 'Shown', subdomain: 'shown' })
    await create({ name: 'Hidden', subdomain: 'hidden', settings: { listed: false } })
    const asleep = await create({ name: 'Asleep', subdomain: 'asleep' })
    await change(asleep.body.id, { is_active: false })
    const gone = await create({ name: 'Gone', subdomain: 'gone' })
    await remove(gone.body.id)
    const subdomains = await listed()
    expect(subdomains).toContain('shown')
    for (const hidden of ['hidden', 'asleep', 'gone', 'platform'])
      expect(subdomains).not.toContain(hidden)
  })

  test('contain only departments of those tenants', async () => {
    const departments = (subdomain: string) =>
      service.call('GET', '/api/auth/departments', { query: { subdomain } })
    const { departmentId } = await makeClinic(service, root, 'open')
    expect(await departments('open')).toMatchObject({
      status: 200,
      body: [{ id: departmentId, name: 'Surgery' }],
    })
    expect(await departments('OPEN')).toMatchObject({ status: 200 })
    for (const closed of ['hidden', 'asleep', 'gone', 'platform', 'nowhere'])
      expect([closed, (await departments(closed)).status]).toEqual([closed, 404])
  })
})

describe('the list of tenants', () => {
  test('contains all tenants for a superadmin, and only their own for admins and auditors', async () => {
    const clinic = await makeClinic(service, root, 'lister')
    const list = async (token: string) =>
      (await service.call('GET', '/api/admin/tenants', { token })).body.map(
        (tenant: { id: number }) => tenant.id,
      )
    expect(await list(root.token)).toEqual(expect.arrayContaining([root.tenant_id, clinic.id]))
    expect(await list(clinic.people.admin.token)).toEqual([clinic.id])
    expect(await list(clinic.people.auditor.token)).toEqual([clinic.id])
  })
})

describe('a page of the list of tenants', () => {
  const list = (query: object, token = root.token) =>
    service.call('GET', '/api/admin/tenants', { token, query: { ...query } })
  const namesOf = (answer: { body: { name: string }[] }) => answer.body.map(({ name }) => name)

  beforeAll(async () => {
    for (const [name, subdomain] of [
      ['Ärzte Páge 2', 'page-two'],
      ['aerzte page 10', 'page-ten'],
      ['Zahn-Page', 'page-three'],
    ])
      await create({ name, subdomain })
  })

  test('contains the tenants whose folded name or subdomain contains the search', async () => {
    expect(namesOf(await list({ search: 'PAGE' }))).toEqual([
      'aerzte page 10',
      'Ärzte Páge 2',
      'Zahn-Page',
    ])
    expect(namesOf(await list({ search: 'zahn page' }))).toEqual(['Zahn-Page'])
    expect(namesOf(await list({ search: 'page-t' }))).toHaveLength(3)
    expect(namesOf(await list({ search: 'e-te' }))).toEqual(['aerzte page 10'])
  })

  test('states the number of all matches in a header', async () => {
    const second = await list({ search: 'page', page: 2, limit: 2 })
    expect(second.headers['x-total-count']).toBe('3')
    expect(namesOf(second)).toEqual(['Zahn-Page'])
    const past = await list({ search: 'page', page: 9, limit: 2 })
    expect([past.headers['x-total-count'], past.body]).toEqual(['3', []])
    expect(await list({ limit: 1001 })).toMatchObject({ status: 422 })
    expect(await list({ page: 0 })).toMatchObject({ status: 422 })
  })

  test('counts the users of each tenant on request', async () => {
    const clinic = await makeClinic(service, root, 'counted')
    const people = Object.keys(clinic.people).length
    expect((await list({ search: 'counted', counts: true })).body).toMatchObject([
      { id: clinic.id, users_count: people },
    ])
    expect((await list({ search: 'counted' })).body[0]).not.toHaveProperty('users_count')
    await service.database.sql(
      `insert into users (tenant_id, email, full_name, role, password_hash)
       select $1, 'nurse' || n || '@counted.test', 'Nurse', 'nurse', 'none' from generate_series(1, 10100) n`,
      [clinic.id],
    )
    expect((await list({ search: 'counted', counts: true })).body).toMatchObject([
      { id: clinic.id, users_count: 10_001 },
    ])
  })

  test('contains tenants of one status', async () => {
    const asleep = await create({ name: 'Status', subdomain: 'status-asleep' })
    await change(asleep.body.id, { is_active: false })
    await create({ name: 'Status', subdomain: 'status-awake' })
    const found = async (status: string) =>
      (await list({ search: 'status-', status })).body.map(
        (tenant: { subdomain: string }) => tenant.subdomain,
      )
    expect(await found('active')).toEqual(['status-awake'])
    expect(await found('inactive')).toEqual(['status-asleep'])
    expect(await found('deleted')).toEqual([])
  })

  test('contains deleted tenants with the time of their purge, only for superadmins', async () => {
    const clinic = await makeClinic(service, root, 'binned')
    await remove(clinic.id)
    const { body } = await list({ search: 'binned', status: 'deleted' })
    expect(body).toMatchObject([{ id: clinic.id }])
    const [{ deleted_at, restorable_until }] = body
    expect(Date.parse(restorable_until) - Date.parse(deleted_at)).toBe(30 * 86_400_000)
    const other = await makeClinic(service, root, 'bin-looker')
    const { token } = other.people.admin
    expect((await list({ status: 'deleted' }, token)).body).toEqual([])
  })
})

describe('the deactivation of a tenant', () => {
  let clinic: Clinic
  beforeAll(async () => {
    clinic = await makeClinic(service, root, 'dormant')
  })

  test('requires a superadmin, and ends all sessions of the tenant immediately', async () => {
    const { admin, nurse } = clinic.people
    expect(await change(clinic.id, { is_active: false }, admin.token)).toMatchObject({
      status: 403,
      body: { code: 'superadmin_required' },
    })
    expect(await change(clinic.id, { is_active: false })).toMatchObject({
      status: 200,
      body: { is_active: false },
    })
    for (const { token } of [admin, nurse])
      expect(await service.call('GET', '/api/users/me', { token })).toMatchObject({ status: 401 })
    const body = { refresh_token: nurse.refresh }
    expect(await service.call('POST', '/api/auth/refresh', { body })).toMatchObject({ status: 401 })
  })

  test('is reported at sign-in only after the correct password', async () => {
    const { email, password } = clinic.people.nurse
    const login = (given: string) =>
      service.call('POST', '/api/auth/login', {
        body: { email, password: given, subdomain: 'dormant' },
      })
    expect(await login('wrong')).toMatchObject({
      status: 401,
      body: { code: 'invalid_credentials' },
    })
    expect(await login(password)).toMatchObject({ status: 403, body: { code: 'tenant_inactive' } })
    await change(clinic.id, { is_active: true })
    expect(await login(password)).toMatchObject({ status: 200 })
  })
})

describe('a deleted tenant', () => {
  test('is no longer in the API, its users are signed out, and it can be restored', async () => {
    const clinic = await makeClinic(service, root, 'leaving')
    const { admin, nurse } = clinic.people
    expect(await remove(clinic.id)).toMatchObject({ status: 204 })
    expect(await remove(clinic.id)).toMatchObject({ status: 404 })

    const get = (path: string, token?: string) => service.call('GET', path, { token })
    expect(await get('/api/users/me', admin.token)).toMatchObject({ status: 401 })
    expect(await get(`/api/admin/tenants/${clinic.id}`, root.token)).toMatchObject({ status: 404 })
    expect(await get(`/api/admin/users/${nurse.id}`, root.token)).toMatchObject({ status: 404 })
    for (const kind of ['users', 'departments'])
      expect(await get(`/api/admin/${kind}?tenant_id=${clinic.id}`, root.token)).toMatchObject({
        status: 200,
        body: { total: 0 },
      })
    const credentials = { email: nurse.email, password: nurse.password, subdomain: 'leaving' }
    expect(await service.call('POST', '/api/auth/login', { body: credentials })).toMatchObject({
      status: 401,
      body: { code: 'invalid_credentials' },
    })
    expect(await change(clinic.id, { name: 'Back' })).toMatchObject({ status: 404 })
    const department = { name: 'New', tenant_id: clinic.id }
    expect(
      await service.call('POST', '/api/admin/departments', { token: root.token, body: department }),
    ).toMatchObject({ status: 404 })

    const restore = () =>
      service.call('POST', `/api/admin/tenants/${clinic.id}/restore`, { token: root.token })
    expect(await restore()).toMatchObject({
      status: 200,
      body: { id: clinic.id, subdomain: 'leaving' },
    })
    const again = await signIn(service, credentials)
    expect(await get('/api/users/me', again.access_token)).toMatchObject({
      status: 200,
      body: { id: nurse.id },
    })
    // Sessions from before the deletion do not become valid again.
    expect(await get('/api/users/me', admin.token)).toMatchObject({ status: 401 })
    expect(await restore()).toMatchObject({ status: 404 })
    const { body } = await service.call('GET', '/api/admin/audit', {
      token: root.token,
      query: { tenant_id: clinic.id, action: 'tenant.restored' },
    })
    expect(body.items).toMatchObject([{ user_id: root.id }])
  })

  test('keeps its audit log entries, which a superadmin can still read', async () => {
    const clinic = await makeClinic(service, root, 'trail')
    await remove(clinic.id)
    const answer = await service.call('GET', '/api/admin/audit', {
      token: root.token,
      query: { tenant_id: clinic.id, limit: 100 },
    })
    const actions = answer.body.items.map((entry: { action: string }) => entry.action)
    expect(actions).toEqual(expect.arrayContaining(['tenant.created', 'tenant.deleted']))
  })
})

describe('a tenant that can be neither deleted nor deactivated', () => {
  test('is the platform tenant', async () => {
    for (const refused of [
      await remove(root.tenant_id),
      await change(root.tenant_id, { is_active: false }),
    ])
      expect(refused).toMatchObject({ status: 409, body: { code: 'tenant_protected' } })
  })

  test("is the caller's own tenant, even for a superadmin who belongs to a clinic", async () => {
    const clinic = await makeClinic(service, root, 'home')
    const body = { email: 'second@home.test', password: 'a-Fine-Secret-3', full_name: 'Second' }
    const made = await service.call('POST', '/api/admin/users', {
      token: root.token,
      body: { ...body, role: 'superadmin', tenant_id: clinic.id },
    })
    expect(made.status).toBe(201)
    const second = await signIn(service, { ...body, subdomain: 'home' })
    const answer = await service.call('DELETE', `/api/admin/tenants/${clinic.id}`, {
      token: second.access_token,
    })
    expect(answer).toMatchObject({ status: 409, body: { code: 'tenant_protected' } })
  })
})
