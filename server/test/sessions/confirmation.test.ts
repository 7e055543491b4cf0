/** Final acts require that the user of a console session has entered the password within the last 5 minutes. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { MINUTE, SECOND } from '../../src/lib/clock.ts'
import { furnishBackup } from '../isolation/furnish.ts'
import { atOnce, tally } from '../races/race.ts'
import { alignClock, type Enrolled, enrol, STEP } from '../second-factor/enrol.ts'
import { codeOf, forgive } from '../support/accounts.ts'
import { type Clinic, makeClinic, PASSWORD, type Person, superadmin } from '../support/clinics.ts'
import { type Answer, openService, type Service } from '../support/service.ts'
import { fresh, jtiOf, newColleague, newPerson, renewAdmin, standing } from './users.ts'

const CONFIRM = '/api/console/session/confirm'

let service: Service
let node: Service
let root: Person
let clinic: Clinic
let operator: Person

beforeAll(async () => {
  service = await openService()
  node = await openService({ database: service.database, clock: service.clock })
  service.clock.stop()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
  operator = await newOperator()
})

beforeEach(async () => {
  await forgive(service)
  await renewAdmin(service, clinic)
})

const newOperator = () =>
  newPerson(service, root, { tenantId: root.tenant_id, subdomain: 'platform', role: 'superadmin' })

/** Signs a person in to the console, or to the API. Returns the access token. */
async function signedIn(person: Person, path = '/api/console/session', more: object = {}) {
  const subdomain = person.tenant_id === clinic.id ? clinic.subdomain : 'platform'
  const body = { email: person.email, password: PASSWORD, subdomain, ...more }
  const answer = await service.call('POST', path, { body })
  expect(answer.status).toBe(200)
  return String(answer.body.access_token)
}

const confirm = (token: string, more: object = {}, at = service): Promise<Answer> =>
  at.call('POST', CONFIRM, { token, body: { password: PASSWORD, ...more } })

/** Removes the second factor of a user without one, which changes nothing and can be repeated. */
const act = (token: string, at = service): Promise<Answer> =>
  at.call('DELETE', `/api/admin/users/${clinic.people.nurse.id}/totp`, { token })

const REFUSED = { status: 403, body: { code: 'reauth_required' } }

/** Signs the clinic's administrator in to the console. */
const administrator = () => signedIn(clinic.people.admin)

type Act = (token: string) => Promise<Answer>

/** Every final act, in an order in which each still finds its record. */
const FINAL_ACTS: Record<string, Act> = {
  downloadBackup: async (token) => {
    const { backupId } = await furnishBackup(service, clinic)
    return service.call('GET', `/api/admin/backup/download/${backupId}`, { token })
  },
  createDownload: async (token) => {
    const { backupId: backup_id } = await furnishBackup(service, clinic)
    const body = { kind: 'backup', backup_id }
    return service.call('POST', '/api/admin/downloads', { token, body })
  },
  deleteBackup: async (token) => {
    const { backupId } = await furnishBackup(service, clinic)
    return service.call('DELETE', `/api/admin/backup/${backupId}`, { token })
  },
  removeUserTotp: (token) => act(token),
  restoreBackup: async (token) => {
    const { backupId } = await furnishBackup(service, clinic)
    const body = { backup_id: backupId, confirm: true }
    return service.call('POST', '/api/admin/backup/restore', { token, body })
  },
  rotateKeys: (token) => service.call('POST', '/api/admin/encryption/rotate', { token, body: {} }),
  deleteTenant: async (token) => {
    const body = { name: 'Passing', subdomain: fresh('passing') }
    const made = await service.call('POST', '/api/admin/tenants', { token, body })
    return service.call('DELETE', `/api/admin/tenants/${made.body.id}`, { token })
  },
}

describe('a final act', () => {
  test('is each of the operations that declare it', () => {
    const declared = service.app.operations.filter((op) => op.isFinal).map(({ id }) => id)
    expect(declared.toSorted()).toEqual(Object.keys(FINAL_ACTS).toSorted())
  })

  test.each(Object.entries(FINAL_ACTS))(
    'is refused in an unconfirmed console session: %s',
    async (_, call) => {
      const token = await signedIn(operator)
      expect(await call(token)).toMatchObject(REFUSED)
    },
  )

  // The same calls also succeed, so the refusal above has no other cause.
  test.each(Object.entries(FINAL_ACTS))(
    'is allowed in a session of the API and in a confirmed console session: %s',
    async (id, call) => {
      const tokens = [await signedIn(operator, '/api/auth/login'), await signedIn(operator)]
      expect((await confirm(String(tokens[1]))).status).toBe(200)
      for (const token of tokens) {
        const answer = await call(token)
        expect([id, answer.body?.code]).not.toEqual([id, 'reauth_required'])
        expect([200, 201, 204]).toContain(answer.status)
        if (id === 'rotateKeys') await endRotation()
      }
    },
  )

  test('is not the preview of a restore', async () => {
    const { backupId } = await furnishBackup(service, clinic)
    const body = { backup_id: backupId, dry_run: true }
    const token = await administrator()
    const answer = await service.call('POST', '/api/admin/backup/restore', { token, body })
    expect(answer.status).toBe(200)
  })

  test('is also a request for the headers of a download', async () => {
    const { backupId } = await furnishBackup(service, clinic)
    const token = await administrator()
    const answer = await service.call('HEAD', `/api/admin/backup/download/${backupId}`, { token })
    expect(answer.status).toBe(403)
  })

  test('is refused after the role and the input were checked, and before its record is looked up', async () => {
    const token = await signedIn(clinic.people.nurse)
    expect(await act(token)).toMatchObject({ status: 403, body: { code: 'role_required' } })
    const own = await administrator()
    const remove = (id: string) =>
      service.call('DELETE', `/api/admin/users/${id}/totp`, { token: own })
    expect((await remove('none')).status).toBe(422)
    expect(await remove('999999999')).toMatchObject(REFUSED)
  })

  test('is journaled when it is refused', async () => {
    const token = await administrator()
    expect(await act(token)).toMatchObject(REFUSED)
    const [row] = await service.database.sql(
      'select operation, code from refusals where session_id = $1',
      [jtiOf(token)],
    )
    expect(row).toEqual({ operation: 'removeUserTotp', code: 'reauth_required' })
  })
})

/** Ends the running rotation, because no worker runs here. */
const endRotation = () =>
  service.database.sql(
    `update encryption_rotations set status = 'completed', finished_at = now() where finished_at is null`,
  )

describe('a confirmed console session', () => {
  test('may perform final acts for five minutes', async () => {
    const token = await administrator()
    const { status, body } = await confirm(token)
    expect(status).toBe(200)
    const confirmed_until = new Date(service.clock.now() + 5 * MINUTE).toISOString()
    expect(body).toEqual({ confirmed_until })
    service.clock.advance(5 * MINUTE - SECOND)
    expect((await act(token)).status).toBe(204)
  })

  test('has to be confirmed again after five minutes, also with a refreshed access token', async () => {
    const { email } = clinic.people.admin
    const body = { email, password: PASSWORD, subdomain: clinic.subdomain }
    const answer = await service.call('POST', '/api/console/session', { body })
    const [cookie = ''] = String(answer.headers['set-cookie']).split(';')
    const refreshed = async () =>
      (
        await service.call('POST', '/api/console/session/refresh', {
          body: {},
          headers: { cookie },
        })
      ).body.access_token
    expect((await confirm(answer.body.access_token)).status).toBe(200)
    service.clock.advance(30 * SECOND)
    expect((await act(await refreshed())).status).toBe(204)
    service.clock.advance(4 * MINUTE + 29 * SECOND)
    const token = await refreshed()
    expect((await act(token)).status).toBe(204)
    service.clock.advance(SECOND)
    expect(await act(token)).toMatchObject(REFUSED)
    expect((await confirm(token)).status).toBe(200)
    expect((await act(token)).status).toBe(204)
  })

  test('is known to every node at once', async () => {
    const token = await administrator()
    expect(await act(token, node)).toMatchObject(REFUSED)
    expect((await confirm(token)).status).toBe(200)
    expect((await act(token, node)).status).toBe(204)
  })

  test('does not confirm other sessions of the same user', async () => {
    const [one, other] = [await administrator(), await administrator()]
    expect((await confirm(one)).status).toBe(200)
    expect(await act(other)).toMatchObject(REFUSED)
    expect((await act(one)).status).toBe(204)
  })

  test('is journaled with its user and its session', async () => {
    const token = await administrator()
    await confirm(token)
    const [entry] = await service.database.sql(
      `select action, user_id, resource_type, changes from journal
       where resource_id = $1 order by id desc limit 1`,
      [jtiOf(token)],
    )
    expect(entry).toEqual({
      action: 'auth.session_confirmed',
      user_id: clinic.people.admin.id,
      resource_type: 'session',
      changes: null,
    })
  })
})

describe('a confirmation', () => {
  test('is refused for a session of the API, which needs none', async () => {
    const token = await signedIn(clinic.people.admin, '/api/auth/login')
    const answer = await confirm(token, { password: 'wrong' })
    expect(answer).toMatchObject({ status: 409, body: { code: 'console_session_required' } })
  })

  test('is refused without an access token, even with the cookie, and from other sites', async () => {
    const { email } = clinic.people.admin
    const body = { email, password: PASSWORD, subdomain: clinic.subdomain }
    const { headers } = await service.call('POST', '/api/console/session', { body })
    const [cookie = ''] = String(headers['set-cookie']).split(';')
    const sent = { body: { password: PASSWORD } }
    const withCookie = await service.call('POST', CONFIRM, { ...sent, headers: { cookie } })
    expect(withCookie).toMatchObject({ status: 401, body: { code: 'not_authenticated' } })
    const token = await administrator()
    const headersOfOthers = { 'sec-fetch-site': 'cross-site' }
    const foreign = await service.call('POST', CONFIRM, {
      ...sent,
      token,
      headers: headersOfOthers,
    })
    expect(foreign).toMatchObject({ status: 403, body: { code: 'cross_site' } })
    expect(await act(token)).toMatchObject(REFUSED)
  })

  test('with a wrong password is refused, does not end the session, and has to wait after five times', async () => {
    const token = await administrator()
    for (let guess = 0; guess < 5; guess += 1)
      expect(await confirm(token, { password: `wrong-${guess}` })).toMatchObject({
        status: 403,
        body: { code: 'wrong_password' },
      })
    for (const at of [service, node]) {
      const late = await confirm(token, {}, at)
      expect(late.status).toBe(429)
      expect(late.headers['retry-after']).toBe('5')
    }
    // Guesses count together with those in PUT /api/users/me/password.
    const change = { current_password: PASSWORD, new_password: 'other-Horse-77' }
    const changed = await service.call('PUT', '/api/users/me/password', { token, body: change })
    expect(changed.status).toBe(429)
    expect(await standing(service, token)).toBe(200)
    expect(await act(token)).toMatchObject(REFUSED)
    service.clock.advance(5 * SECOND)
    expect((await confirm(token)).status).toBe(200)
  })

  test('ends with the session when the password changes', async () => {
    const person = await newColleague(service, clinic, 'admin')
    const token = await signedIn(person)
    await confirm(token)
    const body = { current_password: PASSWORD, new_password: 'other-Horse-77' }
    expect((await service.call('PUT', '/api/users/me/password', { token, body })).status).toBe(200)
    expect((await act(token)).status).toBe(401)
    expect((await confirm(token, { password: 'other-Horse-77' })).status).toBe(401)
  })
})

describe('the confirmation of a user with a second factor', () => {
  let person: Person
  let factor: Enrolled
  let token: string

  beforeEach(async () => {
    person = await newColleague(service, clinic, 'admin')
    alignClock(service)
    factor = await enrol(service, person.token)
    token = await signedIn(person, undefined, { totp_code: codeOf(service, factor.secret) })
    service.clock.advance(STEP)
  })

  const code = () => codeOf(service, factor.secret)

  test.each([undefined, null, ''])('without a code (%j) asks for the code', async (none) => {
    const answer = await confirm(token, none === undefined ? {} : { totp_code: none })
    expect(answer).toMatchObject({ status: 401, body: { code: 'totp_required' } })
    // Unlike an invalid token, for which the console would renew the session.
    expect(answer.headers['www-authenticate']).toBe('Bearer')
    expect(await standing(service, token)).toBe(200)
    expect(await act(token)).toMatchObject(REFUSED)
  })

  test('does not reveal the second factor to those who do not know the password', async () => {
    const answer = await confirm(token, { password: 'wrong' })
    expect(answer).toMatchObject({ status: 403, body: { code: 'wrong_password' } })
  })

  test('succeeds with the code, and each code works once', async () => {
    const once = code()
    expect((await confirm(token, { totp_code: once })).status).toBe(200)
    expect((await act(token)).status).toBe(204)
    const again = await confirm(token, { totp_code: once })
    expect(again).toMatchObject({ status: 403, body: { code: 'wrong_code' } })
  })

  test('with one code succeeds for one of sixteen concurrent requests', async () => {
    const once = code()
    const statuses = tally(await atOnce(() => confirm(token, { totp_code: once })))
    expect(statuses[200]).toBe(1)
    expect((statuses[403] ?? 0) + (statuses[429] ?? 0)).toBe(15)
  })

  test('with a wrong code is refused and has to wait after five times', async () => {
    for (let guess = 0; guess < 5; guess += 1)
      expect(await confirm(token, { totp_code: '000000' })).toMatchObject({
        status: 403,
        body: { code: 'wrong_code' },
      })
    for (const at of [service, node])
      expect((await confirm(token, { totp_code: code() }, at)).status).toBe(429)
    expect(await act(token)).toMatchObject(REFUSED)
    service.clock.advance(5 * SECOND)
    expect((await confirm(token, { totp_code: code() })).status).toBe(200)
  })

  test('accepts a recovery code once', async () => {
    const [totp_code = ''] = factor.recovery
    expect((await confirm(token, { totp_code })).status).toBe(200)
    const again = await confirm(token, { totp_code })
    expect(again).toMatchObject({ status: 403, body: { code: 'wrong_code' } })
    const left = await service.database.sql(
      'select from recovery_codes where user_id = $1 and used_at is null',
      [person.id],
    )
    expect(left).toHaveLength(factor.recovery.length - 1)
  })
})
