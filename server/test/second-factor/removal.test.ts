/** Removing a second factor: one's own with the password, or another user's as an administrator. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { atOnce, tally } from '../races/race.ts'
import { newColleague, standing } from '../sessions/users.ts'
import { codeOf } from '../support/accounts.ts'
import { type Clinic, makeClinic, PASSWORD, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { alignClock, type Enrolled, enrol, login, offered, STEP } from './enrol.ts'

let service: Service
let root: Person
let north: Clinic
let person: Person
let factor: Enrolled

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
  alignClock(service)
})

beforeEach(async () => {
  person = await newColleague(service, north)
  factor = await enrol(service, person.token)
})

/** Signs the person in again with a code. */
async function signInAgain(): Promise<void> {
  const { body } = await login(service, person, { totp_code: codeOf(service, factor.secret) })
  sessions.splice(0, 2, person.token, body.access_token)
  expect(await standings()).toEqual([200, 200])
}

const disable = (password: string, token = person.token) =>
  service.call('POST', '/api/auth/totp/disable', { token, body: { password } })
const removeFor = (id: number, token: string) =>
  service.call('DELETE', `/api/admin/users/${id}/totp`, { token })
const isEnabled = async () => {
  const token = north.people.admin.token
  return (await service.call('GET', `/api/admin/users/${person.id}`, { token })).body.totp_enabled
}

/** The two sessions of the person: the one that set up the factor, and one that signed in with a code. */
const sessions: string[] = []
const standings = () => Promise.all(sessions.map((token) => standing(service, token)))

async function journaled(): Promise<unknown[]> {
  return service.database.sql(
    `select user_id, tenant_id from journal where action = 'auth.totp_disabled' and resource_id = $1`,
    [String(person.id)],
  )
}

async function kept(): Promise<unknown> {
  const [counts] = await service.database.sql(
    `select (select count(*)::int from second_factors where user_id = $1) as factors,
       (select count(*)::int from recovery_codes where user_id = $1) as codes`,
    [person.id],
  )
  return counts
}

describe('disabling one’s own second factor', () => {
  test('deletes the factor with its recovery codes, and the profile shows this immediately', async () => {
    expect((await disable(PASSWORD)).status).toBe(200)
    expect(await isEnabled()).toBe(false)
    expect(await kept()).toEqual({ factors: 0, codes: 0 })
    expect((await login(service, person)).status).toBe(200)
    expect(await journaled()).toEqual([{ user_id: person.id, tenant_id: north.id }])
  })

  test("ends every session of the user, including the caller's", async () => {
    await signInAgain()
    expect((await disable(PASSWORD)).status).toBe(200)
    expect(await standings()).toEqual([401, 401])
  })

  test('requires the password', async () => {
    const answer = await disable('wrong-Horse-9')
    expect(answer).toMatchObject({ status: 403, body: { code: 'wrong_password' } })
    expect(await isEnabled()).toBe(true)
    expect(await journaled()).toEqual([])
  })

  test('is throttled after wrong passwords, which also count for password changes', async () => {
    for (const wrong of ['a', 'b', 'c']) expect((await disable(wrong)).status).toBe(403)
    for (const wrong of ['d', 'e']) expect((await changePassword(wrong)).status).toBe(403)
    for (const refused of [await disable(PASSWORD), await changePassword(PASSWORD)]) {
      expect(refused.status).toBe(429)
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    }
    // Another user at the same IP address does not have to wait.
    const other = await newColleague(service, north)
    expect((await disable('wrong-Horse-9', other.token)).status).toBe(403)
    service.clock.advance(5_000)
    expect((await disable(PASSWORD)).status).toBe(200)
  })

  test('allows the user to set up another secret, and the former secret is invalid', async () => {
    await disable(PASSWORD)
    const { body } = await login(service, person)
    const next = await enrol(service, body.access_token)
    expect(next.secret).not.toBe(factor.secret)
    const codes = [codeOf(service, factor.secret), factor.recovery[0] ?? '']
    for (const totp_code of codes)
      expect((await login(service, person, { totp_code })).status).toBe(401)
    const totp_code = codeOf(service, next.secret)
    expect((await login(service, person, { totp_code })).status).toBe(200)
  })

  test('changes nothing for a user who never enabled a factor', async () => {
    const other = await newColleague(service, north)
    await offered(service, other.token)
    const { body } = await login(service, other)
    expect((await disable(PASSWORD, other.token)).status).toBe(200)
    expect((await disable(PASSWORD, other.token)).status).toBe(200)
    expect(await standing(service, body.access_token)).toBe(200)
    const entries = await service.database.sql(
      `select 1 from journal where action = 'auth.totp_disabled' and resource_id = $1`,
      [String(other.id)],
    )
    // This is the entry about the cancelled enrolment.
    expect(entries).toHaveLength(1)
  })

  test('does not interfere with sixteen concurrent sign-ins', async () => {
    service.clock.advance(STEP)
    const totp_code = codeOf(service, factor.secret)
    const signingIn = atOnce(() => login(service, person, { totp_code }))
    const disabled = await disable(PASSWORD)
    expect(disabled.status).toBe(200)
    for (const status of Object.keys(tally(await signingIn)))
      expect(['200', '401', '429']).toContain(status)
    expect(await kept()).toEqual({ factors: 0, codes: 0 })
  })

  function changePassword(current_password: string) {
    return service.call('PUT', '/api/users/me/password', {
      token: person.token,
      body: { current_password, new_password: 'other-Horse-77' },
    })
  }
})

describe("removing another user's second factor", () => {
  test("is allowed for an admin of the user's tenant", async () => {
    expect((await removeFor(person.id, north.people.admin.token)).status).toBe(204)
    expect(await isEnabled()).toBe(false)
    expect(await kept()).toEqual({ factors: 0, codes: 0 })
    expect(await journaled()).toEqual([{ user_id: north.people.admin.id, tenant_id: north.id }])
    expect((await login(service, person)).status).toBe(200)
  })

  test('ends every session of the user', async () => {
    await signInAgain()
    expect((await removeFor(person.id, north.people.admin.token)).status).toBe(204)
    expect(await standings()).toEqual([401, 401])
    const ended = await service.database.sql(
      'select distinct end_reason from sessions where user_id = $1',
      [person.id],
    )
    expect(ended).toEqual([{ end_reason: 'factor_removed' }])
  })

  test('is allowed for a superadmin in any tenant', async () => {
    expect((await removeFor(person.id, root.token)).status).toBe(204)
    expect(await isEnabled()).toBe(false)
    expect(await journaled()).toEqual([{ user_id: root.id, tenant_id: north.id }])
  })

  test('is refused to an admin if the user is a superadmin, even in the same tenant', async () => {
    const operator = await service.call('POST', '/api/admin/users', {
      token: root.token,
      body: {
        email: 'operator@north.test',
        password: PASSWORD,
        full_name: 'Operator',
        role: 'superadmin',
        tenant_id: north.id,
      },
    })
    expect(operator.status).toBe(201)
    const answer = await removeFor(operator.body.id, north.people.admin.token)
    expect(answer).toMatchObject({ status: 403, body: { code: 'superadmin_required' } })
  })

  test('changes nothing when repeated', async () => {
    await removeFor(person.id, north.people.admin.token)
    expect((await removeFor(person.id, north.people.admin.token)).status).toBe(204)
    expect(await journaled()).toHaveLength(1)
  })
})
