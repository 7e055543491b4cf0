/** Tenants can require a second factor for some roles. Users of these roles without a factor can only set one up. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { MINUTE } from '../../src/lib/clock.ts'
import { eventually, jtiOf, newColleague, refresh } from '../sessions/users.ts'
import { codeOf } from '../support/accounts.ts'
import { type Clinic, makeClinic, PASSWORD, type Person, superadmin } from '../support/clinics.ts'
import { type Answer, openService, type Service } from '../support/service.ts'
import {
  alignClock,
  enable,
  enrol,
  login,
  offered,
  PASSWORD_MISSING,
  STEP,
  setUp,
} from './enrol.ts'

let service: Service
let node: Service
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  node = await openService({ database: service.database })
  const root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
  await demand(['doctor', 'auditor'], root)
  alignClock(service)
  // Synchronises the nodes' clocks.
  node.clock.advance(service.clock.now() - node.clock.now())
})

// Signs the admin in again, because the session expires when tests advance the clock.
beforeEach(async () => {
  clinic.people.admin.token = (await login(service, clinic.people.admin)).body.access_token
})

async function demand(require_totp: string[], by: Person): Promise<void> {
  const answer = await service.call('PUT', `/api/admin/tenants/${clinic.id}`, {
    token: by.token,
    body: { settings: { require_totp } },
  })
  if (answer.status !== 200) throw new Error(`the settings were refused: ${answer.status}`)
}

/** Moves the clocks of both nodes. */
function advance(ms: number): void {
  for (const { clock } of [service, node]) clock.advance(ms)
}

/** Returns why the session of an access token ended. */
async function endOf(token: string): Promise<unknown> {
  const [row] = await service.database.sql('select end_reason from sessions where id = $1', [
    jtiOf(token),
  ])
  return row?.end_reason
}

const me = (token: string, at = service) => at.call('GET', '/api/users/me', { token })
const statusOf = async (answer: Promise<Answer>) => (await answer).status

describe('the session of a user who lacks a required second factor', () => {
  let person: Person
  let tokens: { access_token: string; refresh_token: string; enrolment_required: boolean }

  beforeEach(async () => {
    person = await newColleague(service, clinic)
    tokens = (await login(service, person)).body
  })

  test('is marked enrolment_required at sign-in', async () => {
    expect(tokens.enrolment_required).toBe(true)
    const nurse = await login(service, clinic.people.nurse)
    expect(nurse.body.enrolment_required).toBe(false)
    expect(await statusOf(me(nurse.body.access_token))).toBe(200)
  })

  test('can read the profile, set up the factor and sign out', async () => {
    const { access_token: token } = tokens
    for (const path of ['/api/auth/me', '/api/users/me'])
      expect(await statusOf(service.call('GET', path, { token }))).toBe(200)
    await offered(service, token)
    expect((await enable(service, token, '000000')).body.code).toBe('wrong_code')
    expect(await statusOf(service.call('POST', '/api/auth/logout', { token }))).toBe(200)
    expect(await statusOf(me(token))).toBe(401)
  })

  test('can call no other operation, on any node', async () => {
    const open = new Set([
      '/api/auth/me',
      '/api/users/me',
      '/api/auth/totp/setup',
      '/api/auth/totp/enable',
      '/api/auth/logout',
    ])
    const closed = service.app.operations.filter(
      ({ access, path }) => access.roles !== null && !open.has(path),
    )
    expect(closed.length).toBeGreaterThan(20)
    for (const at of [service, node])
      for (const { method, path } of closed) {
        const answer = await at.call(method, path.replaceAll(/\{\w+\}/g, '1'), {
          token: tokens.access_token,
          ...(method === 'GET' ? {} : { body: {} }),
        })
        expect([method, path, answer.status, answer.body.code]).toEqual([
          method,
          path,
          403,
          'enrolment_required',
        ])
      }
  })

  test('stays restricted after a refresh', async () => {
    const next = await refresh(service, tokens.refresh_token)
    expect(next).toMatchObject({ status: 200, body: { enrolment_required: true } })
    const answer = await service.call('GET', '/api/preferences', { token: next.body.access_token })
    expect(answer).toMatchObject({ status: 403, body: { code: 'enrolment_required' } })
  })

  test('has full access on every node once the user enables the factor', async () => {
    const token = tokens.access_token
    const preferences = (at: Service) => statusOf(at.call('GET', '/api/preferences', { token }))
    expect(await preferences(node)).toBe(403)
    await enrol(service, token)
    expect(await preferences(service)).toBe(200)
    expect(
      await eventually(
        () => preferences(node),
        (status) => status === 200,
      ),
    ).toBe(200)
    expect((await me(token)).body.totp_enabled).toBe(true)
    const next = await refresh(service, tokens.refresh_token)
    expect(next.body.enrolment_required).toBe(false)
  })

  test('is the only session of the user that remains when the factor is enabled, on every node', async () => {
    const { body: thief } = await login(service, person)
    expect(await statusOf(me(thief.access_token, node))).toBe(200)
    await enrol(service, tokens.access_token)
    expect(await statusOf(me(thief.access_token))).toBe(401)
    await eventually(
      () => statusOf(me(thief.access_token, node)),
      (status) => status === 401,
    )
    expect(await statusOf(refresh(node, thief.refresh_token))).toBe(401)
    expect(await endOf(thief.access_token)).toBe('factor_enabled')
    expect(await statusOf(me(tokens.access_token, node))).toBe(200)
  })

  test('can set up the factor without the password for ten minutes, and later only with the password', async () => {
    expect(await statusOf(setUp(service, tokens.access_token, null))).toBe(200)
    const wrong = await setUp(service, tokens.access_token, { password: 'wrong-Horse-9' })
    expect(wrong).toMatchObject({ status: 403, body: { code: 'wrong_password' } })
    advance(10 * MINUTE)
    for (const none of [null, {}, { password: null }]) {
      const late = await setUp(service, tokens.access_token, none)
      expect([late.status, late.body.detail]).toEqual([422, [PASSWORD_MISSING]])
    }
    expect(await statusOf(setUp(service, tokens.access_token))).toBe(200)
  })
})

describe('a requirement for a second factor that is introduced while users are signed in', () => {
  const preferences = (token: string, at = service) => at.call('GET', '/api/preferences', { token })

  async function bothSee(token: string, wanted: object): Promise<void> {
    expect(await preferences(token)).toMatchObject(wanted)
    const { status } = wanted as Answer
    const seen = await eventually(
      () => preferences(token, node),
      (answer) => answer.status === status,
    )
    expect(seen).toMatchObject(wanted)
  }

  test('restricts the sessions of users without a factor on every node', async () => {
    const nurse = await newColleague(service, clinic, 'nurse')
    const ready = await newColleague(service, clinic, 'nurse')
    await enrol(service, ready.token)
    const receptionist = await newColleague(service, clinic, 'receptionist')
    await bothSee(nurse.token, { status: 200 })
    await demand(['doctor', 'auditor', 'nurse'], clinic.people.admin)
    await bothSee(nurse.token, { status: 403, body: { code: 'enrolment_required' } })
    const next = await refresh(node, nurse.refresh)
    expect(next).toMatchObject({ status: 200, body: { enrolment_required: true } })
    for (const { token } of [ready, receptionist]) await bothSee(token, { status: 200 })
    // Advances the clock, because setting up the factor requires the password when the sign-in is long ago.
    advance(10 * MINUTE)
    expect(await statusOf(setUp(service, nurse.token, null))).toBe(422)
    await enrol(service, nurse.token)
    await bothSee(nurse.token, { status: 200 })
  })

  test('restricts no session after it is removed', async () => {
    const nurse = await newColleague(service, clinic, 'nurse')
    await demand(['nurse', 'doctor', 'auditor'], clinic.people.admin)
    await bothSee(nurse.token, { status: 403 })
    await demand(['doctor', 'auditor'], clinic.people.admin)
    await bothSee(nurse.token, { status: 200 })
  })

  test('applies at the next sign-in of a user who gets a role with the requirement', async () => {
    const nurse = await newColleague(service, clinic, 'nurse')
    const changed = await service.call('PUT', `/api/admin/users/${nurse.id}/role`, {
      token: clinic.people.admin.token,
      body: { role: 'doctor' },
    })
    expect(changed.status).toBe(200)
    expect(await statusOf(me(nurse.token))).toBe(401)
    expect((await login(service, nurse)).body.enrolment_required).toBe(true)
  })
})

describe('a user with a second factor', () => {
  test('is asked for the code as usual, and gets an unrestricted session', async () => {
    const person = await newColleague(service, clinic)
    const { secret } = await enrol(service, person.token)
    expect((await login(service, person)).body.code).toBe('totp_required')
    const entered = await login(service, person, { totp_code: codeOf(service, secret) })
    expect(entered).toMatchObject({ status: 200, body: { enrolment_required: false } })
  })

  test('cannot disable the factor while their role requires it', async () => {
    const person = await newColleague(service, clinic)
    await enrol(service, person.token)
    const disable = () =>
      service.call('POST', '/api/auth/totp/disable', {
        token: person.token,
        body: { password: PASSWORD },
      })
    expect(await disable()).toMatchObject({ status: 409, body: { code: 'totp_demanded' } })
    expect((await me(person.token)).body.totp_enabled).toBe(true)
    await demand([], clinic.people.admin)
    expect((await disable()).status).toBe(200)
    await demand(['doctor', 'auditor'], clinic.people.admin)
  })

  test('can disable the factor if only other roles require it', async () => {
    const nurse = await newColleague(service, clinic, 'nurse')
    await enrol(service, nurse.token)
    const answer = await service.call('POST', '/api/auth/totp/disable', {
      token: nurse.token,
      body: { password: PASSWORD },
    })
    expect(answer.status).toBe(200)
  })

  test('has to set up the factor again at the next sign-in if an admin removed it', async () => {
    const person = await newColleague(service, clinic)
    await enrol(service, person.token)
    service.clock.advance(STEP)
    await service.call('DELETE', `/api/admin/users/${person.id}/totp`, {
      token: clinic.people.admin.token,
    })
    expect((await login(service, person)).body.enrolment_required).toBe(true)
  })
})

test('the tenant setting require_totp rejects unknown roles', async () => {
  const answer = await service.call('PUT', `/api/admin/tenants/${clinic.id}`, {
    token: clinic.people.admin.token,
    body: { settings: { require_totp: ['surgeon'] } },
  })
  expect(answer.status).toBe(422)
})
