/** A session whose user must change the password allows nothing else until the user has changed it. */
import { beforeAll, describe, expect, test } from 'vitest'
import { enrol } from '../second-factor/enrol.ts'
import { eventually, fresh, newColleague, refresh } from '../sessions/users.ts'
import { mailedToken } from '../support/accounts.ts'
import { type Clinic, makeClinic, PASSWORD, superadmin } from '../support/clinics.ts'
import { confirmAddress } from '../support/people.ts'
import { type Answer, openService, type Service } from '../support/service.ts'

const CHOSEN = 'chosen-Horse-8'

let service: Service
let node: Service
let clinic: Clinic

beforeAll(async () => {
  service = await openService({ background: ['jobs'] })
  node = await openService({ database: service.database })
  clinic = await makeClinic(service, await superadmin(service), 'north')
})

const byAdmin = (method: string, path: string, body?: object) =>
  service.call(method, path, { token: clinic.people.admin.token, body })

/** Creates a nurse as the administrator, with additional `fields`. */
async function create(fields: object): Promise<{ id: number; email: string; answer: Answer }> {
  const email = `${fresh('starter')}@north.test`
  const given = { email, password: PASSWORD, full_name: 'New Here', role: 'nurse', ...fields }
  const answer = await byAdmin('POST', '/api/admin/users', given)
  return { id: answer.body.id, email, answer }
}

const login = (email: string, password = PASSWORD) =>
  service.call('POST', '/api/auth/login', { body: { email, password, subdomain: 'north' } })

const change = (token: string, new_password = CHOSEN, current_password = PASSWORD) =>
  service.call('PUT', '/api/users/me/password', { token, body: { current_password, new_password } })

const preferences = (token: string, at = service) => at.call('GET', '/api/preferences', { token })

const REQUIRED = { status: 403, body: { code: 'password_change_required' } }

describe('an initial password that the user must change', () => {
  test('signs in with password_change_required, and sets must_change_password in the profile', async () => {
    const { answer, email } = await create({ must_change_password: true })
    expect(answer).toMatchObject({ status: 201, body: { must_change_password: true } })
    const { body } = await login(email)
    expect(body).toMatchObject({ password_change_required: true, enrolment_required: false })
    const { access_token: token } = body
    const me = await service.call('GET', '/api/users/me', { token })
    expect(me).toMatchObject({ status: 200, body: { must_change_password: true } })
    const next = await refresh(node, body.refresh_token)
    expect(next).toMatchObject({ status: 200, body: { password_change_required: true } })
    expect(await preferences(next.body.access_token, node)).toMatchObject(REQUIRED)
  })

  test('allows no other operation until it is changed, on any node', async () => {
    const { email } = await create({ must_change_password: true })
    const { access_token: token } = (await login(email)).body
    const open = new Set([
      'GET /api/auth/me',
      'GET /api/users/me',
      'PUT /api/users/me/password',
      'POST /api/auth/logout',
    ])
    const closed = service.app.operations.filter(
      ({ access, method, path }) => access.roles !== null && !open.has(`${method} ${path}`),
    )
    expect(closed.length).toBeGreaterThan(20)
    for (const at of [service, node])
      for (const { method, path } of closed) {
        const answer = await at.call(method, path.replaceAll(/\{\w+\}/g, '1'), {
          token,
          ...(method === 'GET' ? {} : { body: {} }),
        })
        expect([method, path, answer]).toMatchObject([method, path, REQUIRED])
      }
    expect((await service.call('POST', '/api/auth/logout', { token })).status).toBe(200)
  })

  test('no longer has to be changed once the user has chosen a different password', async () => {
    const { id, email } = await create({ must_change_password: true })
    const { access_token: token } = (await login(email)).body
    const same = await change(token, PASSWORD)
    expect([same.status, same.body.detail]).toMatchObject([
      422,
      [{ loc: ['body', 'new_password'], type: 'value_error' }],
    ])
    // These full-width letters normalize to the current password.
    const wide = PASSWORD.replaceAll(/[!-~]/g, (letter) =>
      String.fromCodePoint((letter.codePointAt(0) ?? 0) + 0xfee0),
    )
    expect(wide).not.toBe(PASSWORD)
    expect(await change(token, wide)).toMatchObject({ status: 422, body: same.body })
    expect((await change(token)).status).toBe(200)
    expect(await preferences(token)).toMatchObject({ status: 401 })
    const { body } = await login(email, CHOSEN)
    expect(body.password_change_required).toBe(false)
    expect((await preferences(body.access_token)).status).toBe(200)
    const [entry] = await service.database.sql(
      `select changes from journal where action = 'user.password_changed' and resource_id = $1`,
      [String(id)],
    )
    expect(entry?.changes).toEqual({
      before: { must_change_password: true },
      after: { must_change_password: false },
      by: 'user',
    })
  })

  test('no longer has to be changed after a password reset with a mailed link', async () => {
    const { id, email } = await create({ must_change_password: true })
    await confirmAddress(service, id)
    await service.call('POST', '/api/auth/request-reset', { body: { email, subdomain: 'north' } })
    const token = await mailedToken(service, email, 'reset-password')
    const body = { token, new_password: CHOSEN }
    expect((await service.call('POST', '/api/auth/reset-password', { body })).status).toBe(200)
    expect((await login(email, CHOSEN)).body.password_change_required).toBe(false)
    const seen = await byAdmin('GET', `/api/admin/users/${id}`)
    expect(seen.body.must_change_password).toBe(false)
  })

  test('has to be changed before the user sets up a required second factor', async () => {
    await byAdmin('PUT', `/api/admin/tenants/${clinic.id}`, {
      settings: { require_totp: ['nurse'] },
    })
    const { email } = await create({ must_change_password: true })
    const first = (await login(email)).body
    expect(first).toMatchObject({ password_change_required: true, enrolment_required: false })
    const setUp = await service.call('POST', '/api/auth/totp/setup', { token: first.access_token })
    expect(setUp).toMatchObject(REQUIRED)
    await change(first.access_token)
    const second = (await login(email, CHOSEN)).body
    expect(second).toMatchObject({ password_change_required: false, enrolment_required: true })
    await byAdmin('PUT', `/api/admin/tenants/${clinic.id}`, { settings: {} })
  })
})

describe('a password reset by an administrator', () => {
  const reset = (id: number, fields: object) =>
    byAdmin('PUT', `/api/admin/users/${id}/password`, { password: 'handed-Over-4', ...fields })

  test('has to be changed if the administrator sets must_change_password', async () => {
    const person = await newColleague(service, clinic)
    expect((await reset(person.id, { must_change_password: true })).status).toBe(200)
    const { body } = await login(person.email, 'handed-Over-4')
    expect(body.password_change_required).toBe(true)
    expect(await preferences(body.access_token)).toMatchObject(REQUIRED)
  })

  test('does not have to be changed if the administrator omits must_change_password', async () => {
    const person = await newColleague(service, clinic)
    await reset(person.id, { must_change_password: true })
    expect((await reset(person.id, {})).status).toBe(200)
    const { body } = await login(person.email, 'handed-Over-4')
    expect(body.password_change_required).toBe(false)
    expect((await preferences(body.access_token)).status).toBe(200)
  })
})

test('a user created without must_change_password does not have to change the password', async () => {
  const { answer, email } = await create({})
  expect(answer.body.must_change_password).toBe(false)
  expect((await login(email)).body.password_change_required).toBe(false)
})

test('a user with a second factor enters a code, and then has to change the password', async () => {
  const person = await newColleague(service, clinic)
  const { recovery } = await enrol(service, person.token)
  await byAdmin('PUT', `/api/admin/users/${person.id}/password`, {
    password: 'handed-Over-4',
    must_change_password: true,
  })
  expect((await login(person.email, 'handed-Over-4')).body.code).toBe('totp_required')
  const body = { email: person.email, password: 'handed-Over-4', subdomain: 'north' }
  const entered = await service.call('POST', '/api/auth/login', {
    body: { ...body, totp_code: recovery[0] },
  })
  expect(entered).toMatchObject({ status: 200, body: { password_change_required: true } })
  const answer = await eventually(
    () => preferences(entered.body.access_token, node),
    ({ status }) => status === 403,
  )
  expect(answer).toMatchObject(REQUIRED)
})
