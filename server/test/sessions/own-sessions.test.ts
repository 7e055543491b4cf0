/** The caller's own sessions: the list, and ending one of them. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { DAY, SECOND } from '../../src/lib/clock.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { jtiOf, newColleague, refresh, renewAdmin, standing } from './users.ts'

let service: Service
let clinic: Clinic
let person: Person
let colleague: Person

beforeAll(async () => {
  service = await openService()
  clinic = await makeClinic(service, await superadmin(service), 'north')
})

beforeEach(async () => {
  await renewAdmin(service, clinic)
  person = await newColleague(service, clinic)
  colleague = await newColleague(service, clinic)
})

async function list(token: string) {
  const { status, body } = await service.call('GET', '/api/auth/sessions', { token })
  expect(status).toBe(200)
  return body as { jti: string; current: boolean; [field: string]: unknown }[]
}

const again = async (headers: Record<string, string> = {}) => {
  const { email, password } = person
  const body = { email, password, subdomain: 'north' }
  return (await service.call('POST', '/api/auth/login', { body, headers })).body
}
const revoke = (token: string, jti: string) =>
  service.call('DELETE', `/api/auth/sessions/${encodeURIComponent(jti)}`, { token })

describe('the list of a caller’s own sessions', () => {
  test('shows each sign-in with its IP address and user agent, the latest first', async () => {
    service.clock.advance(5 * SECOND)
    const before = service.clock.now()
    const tokens = await again({ 'user-agent': 'Ward Tablet/2 (ünïcode)' })
    const sessions = await list(tokens.access_token)
    expect(sessions).toEqual([
      {
        jti: jtiOf(tokens.access_token),
        created_at: expect.any(Number),
        ip: '127.0.0.1',
        user_agent: 'Ward Tablet/2 (ünïcode)',
        last_used_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        current: true,
      },
      expect.objectContaining({ jti: jtiOf(person.token), current: false }),
    ])
    const created = Number(sessions[0]?.created_at)
    expect(Number.isInteger(created)).toBe(true)
    expect(created).toBeGreaterThanOrEqual(Math.floor(before / SECOND))
    expect(created).toBeLessThanOrEqual(service.clock.now() / SECOND)
  })

  test('shows a refresh as a use of the same session, from the current IP address', async () => {
    const [before] = await list(person.token)
    service.clock.advance(60 * SECOND)
    const { body } = await service.call('POST', '/api/auth/refresh', {
      body: { refresh_token: person.refresh },
      headers: { 'user-agent': 'Another Browser' },
    })
    const sessions = await list(body.access_token)
    expect(sessions).toHaveLength(1)
    expect(sessions[0]).toMatchObject({
      jti: before?.jti,
      created_at: before?.created_at,
      user_agent: 'Another Browser',
      current: true,
    })
    expect(Date.parse(String(sessions[0]?.last_used_at))).toBeGreaterThan(
      Date.parse(String(before?.last_used_at)),
    )
  })

  test('contains no sessions of other users', async () => {
    expect((await list(colleague.token)).map(({ jti }) => jti)).toEqual([jtiOf(colleague.token)])
  })

  test('omits ended and expired sessions', async () => {
    const ended = await again()
    await service.call('POST', '/api/auth/logout', { token: ended.access_token })
    expect(await list(person.token)).toHaveLength(1)
    service.clock.advance(15 * DAY)
    const { access_token } = await again()
    expect((await list(access_token)).map(({ jti }) => jti)).toEqual([jtiOf(access_token)])
  })
})

describe('a user with several sessions', () => {
  test('can end another session of their own, and stays signed in with the current one', async () => {
    const other = await again()
    const answer = await revoke(person.token, jtiOf(other.access_token))
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ detail: expect.any(String), email_verified: null })
    expect(await standing(service, other.access_token)).toBe(401)
    expect((await refresh(service, other.refresh_token)).status).toBe(401)
    expect(await standing(service, person.token)).toBe(200)
    const entries = await service.database.sql(
      `select user_id, changes from journal where action = 'auth.session_revoked' and resource_id = $1`,
      [jtiOf(other.access_token)],
    )
    expect(entries).toEqual([{ user_id: person.id, changes: { sessions: 1 } }])
  })

  test('can end the current session', async () => {
    expect((await revoke(person.token, jtiOf(person.token))).status).toBe(200)
    expect(await standing(service, person.token)).toBe(401)
  })

  test('cannot end a session twice', async () => {
    const jti = jtiOf((await again()).access_token)
    expect((await revoke(person.token, jti)).status).toBe(200)
    expect((await revoke(person.token, jti)).status).toBe(404)
  })

  test.each([
    ['a colleague', () => jtiOf(colleague.token)],
    ['their administrator', () => jtiOf(clinic.people.admin.token)],
    ['an unknown session', () => '00000000-0000-4000-8000-000000000000'],
    ['a malformed ID', () => 'all'],
    ['an SQL injection', () => "' or true --"],
    ['their own session in upper case', () => jtiOf(person.token).toUpperCase()],
  ])('gets 404 for the session ID of %s', async (_, jti) => {
    const answer = await revoke(person.token, jti())
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect(await standing(service, colleague.token)).toBe(200)
    expect(await standing(service, person.token)).toBe(200)
  })

  test("gets the same response for another user's session and for an unknown one", async () => {
    const foreign = await revoke(person.token, jtiOf(colleague.token))
    const missing = await revoke(person.token, '00000000-0000-4000-8000-000000000000')
    expect(foreign.body).toEqual(missing.body)
  })
})
