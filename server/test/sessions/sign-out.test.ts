/** Signs out of the current session, of all sessions, or of the session of a given refresh token. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Clinic, makeClinic, type Person, signIn, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { jtiOf, newColleague, refresh, standing } from './users.ts'

let service: Service
let clinic: Clinic
let person: Person
let second: { access_token: string; refresh_token: string }
let third: typeof second

beforeAll(async () => {
  service = await openService()
  clinic = await makeClinic(service, await superadmin(service), 'north')
})

beforeEach(async () => {
  person = await newColleague(service, clinic)
  const { email, password } = person
  second = await signIn(service, { email, password, subdomain: 'north' })
  third = await signIn(service, { email, password, subdomain: 'north' })
})

const logout = (body?: unknown, token = person.token) =>
  service.call('POST', '/api/auth/logout', { token, ...(body === undefined ? {} : { body }) })

/** Returns which of the three sessions are active. */
const living = () =>
  Promise.all(
    [person.token, second.access_token, third.access_token].map(
      async (token) => (await standing(service, token)) === 200,
    ),
  )

describe('signing out', () => {
  test.each([
    ['no body', undefined],
    ['an empty body', {}],
    ['all_devices false', { all_devices: false }],
    ['no refresh token', { refresh_token: null }],
    ['an empty refresh token', { refresh_token: '' }],
    ['a malformed refresh token', { refresh_token: 'something else' }],
    ['an unknown field', { everything: true }],
  ])('ends only the session of the access token with %s', async (_, body) => {
    const answer = await logout(body)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ detail: expect.any(String), email_verified: null })
    expect(await living()).toEqual([false, true, true])
    expect((await refresh(service, person.refresh)).status).toBe(401)
    expect((await refresh(service, second.refresh_token)).status).toBe(200)
  })

  test('ends the current session with its own refresh token, and is journaled once', async () => {
    expect((await logout({ refresh_token: person.refresh })).status).toBe(200)
    expect(await living()).toEqual([false, true, true])
    expect(await journaled()).toEqual([{ resource_id: jtiOf(person.token), sessions: 1 }])
  })

  test('ends two sessions of the user if the refresh token belongs to the other session', async () => {
    expect((await logout({ refresh_token: second.refresh_token })).status).toBe(200)
    expect(await living()).toEqual([false, false, true])
    expect((await refresh(service, second.refresh_token)).status).toBe(401)
    expect(await journaled()).toHaveLength(2)
  })

  test('ends both sessions or neither, so that a failed call can be repeated', async () => {
    const { sql } = service.database
    await sql(`create function refuse() returns trigger language plpgsql as
      $$ begin raise exception 'not now'; end $$`)
    await sql(`create trigger refuse before update of ended_at on sessions for each row
      when (old.id = '${jtiOf(second.access_token)}') execute function refuse()`)
    expect((await logout({ refresh_token: second.refresh_token })).status).toBe(500)
    expect(await living()).toEqual([true, true, true])
    await sql('drop trigger refuse on sessions')
    await sql('drop function refuse')
    expect((await logout({ refresh_token: second.refresh_token })).status).toBe(200)
    expect(await living()).toEqual([false, false, true])
  })

  test('ends only the current session if the refresh token belongs to another user', async () => {
    const colleague = await newColleague(service, clinic)
    expect((await logout({ refresh_token: colleague.refresh })).status).toBe(200)
    expect(await living()).toEqual([false, true, true])
    expect(await standing(service, colleague.token)).toBe(200)
    expect((await refresh(service, colleague.refresh)).status).toBe(200)
  })

  test('of all devices ends every session of the user, with one journal entry', async () => {
    const answer = await logout({ all_devices: true })
    expect(answer.status).toBe(200)
    expect(await living()).toEqual([false, false, false])
    for (const token of [person.refresh, second.refresh_token, third.refresh_token])
      expect((await refresh(service, token)).status).toBe(401)
    expect(await standing(service, clinic.people.doctor.token)).toBe(200)
    expect(await journaled()).toEqual([{ resource_id: null, sessions: 3 }])
  })

  test('is refused when the session has already ended', async () => {
    await logout()
    expect((await logout()).status).toBe(401)
    expect((await logout({ all_devices: true })).status).toBe(401)
    expect(await living()).toEqual([false, true, true])
  })
})

function journaled() {
  return service.database.sql(
    `select resource_id, (changes ->> 'sessions')::int as sessions from journal
     where action = 'auth.logout' and user_id = $1 order by id`,
    [person.id],
  )
}
