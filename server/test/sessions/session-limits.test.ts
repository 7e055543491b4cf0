/** The limits of sessions: fifty per user, and one day for superadmins. */
import { beforeAll, describe, expect, test } from 'vitest'
import { HOUR, MINUTE } from '../../src/lib/clock.ts'
import { atOnce } from '../races/race.ts'
import { type Clinic, makeClinic, type Person, signIn, superadmin } from '../support/clinics.ts'
import { openService, type Service, SUPERADMIN } from '../support/service.ts'
import { eventually, jtiOf, newColleague, refresh, standing } from './users.ts'

let service: Service
let node: Service
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  node = await openService({ database: service.database })
  clinic = await makeClinic(service, await superadmin(service), 'north')
})

const enter = ({ email, password }: Pick<Person, 'email' | 'password'>) =>
  signIn(service, { email, password, subdomain: 'north' })

async function listed(token: string): Promise<string[]> {
  const { body } = await service.call('GET', '/api/auth/sessions', { token })
  return body.map(({ jti }: { jti: string }) => jti)
}

describe('the fifty-first session of a user', () => {
  test("ends the user's oldest session on every node, and no session of other users", async () => {
    const person = await newColleague(service, clinic)
    const later = []
    for (let more = 1; more < 50; more += 1) later.push(await enter(person))
    expect(await listed(person.token)).toHaveLength(50)
    expect(await standing(node, person.token)).toBe(200)

    const { access_token: newest } = await enter(person)
    expect(await standing(service, person.token)).toBe(401)
    await eventually(
      () => standing(node, person.token),
      (status) => status === 401,
    )
    expect((await refresh(node, person.refresh)).status).toBe(401)
    const left = await listed(newest)
    expect(left).toHaveLength(50)
    expect(new Set(left)).toEqual(
      new Set([newest, ...later.map(({ access_token }) => access_token)].map(jtiOf)),
    )
    expect(await standing(service, clinic.people.nurse.token)).toBe(200)
    const entries = await service.database.sql(
      `select resource_id from journal where action = 'auth.session_ended' and user_id = $1`,
      [person.id],
    )
    expect(entries).toEqual([{ resource_id: jtiOf(person.token) }])
    const [ended] = await service.database.sql('select end_reason from sessions where id = $1', [
      jtiOf(person.token),
    ])
    expect(ended).toEqual({ end_reason: 'too_many' })
  })

  test('leaves fifty sessions if sixteen more sessions start concurrently', async () => {
    const person = await newColleague(service, clinic)
    for (let more = 1; more < 45; more += 1) await enter(person)
    const entered = await atOnce(() => enter(person))
    expect(await listed(entered[0]?.access_token ?? '')).toHaveLength(50)
    for (const { access_token } of entered) expect(await standing(service, access_token)).toBe(200)
  })

  test('ends no other session if older ones have expired', async () => {
    const person = await newColleague(service, clinic)
    await service.database.sql(
      `insert into sessions (id, tenant_id, user_id, created_at, last_used_at, idle_seconds, expires_at, absolute_expires_at)
       select gen_random_uuid(), $1, $2, now(), now(), 60, now() - interval '1 second', now() + interval '1 day'
       from generate_series(1, 60)`,
      [clinic.id, person.id],
    )
    const { access_token } = await enter(person)
    expect(await standing(service, person.token)).toBe(200)
    expect(await listed(access_token)).toHaveLength(2)
  })
})

describe("a superadmin's session", () => {
  const operator = () => signIn(service, { ...SUPERADMIN, subdomain: 'platform' })
  const next = async (token: string) => {
    const { status, body } = await refresh(service, token)
    return [status, body.refresh_token] as const
  }

  test("expires after eight hours without use, unlike a nurse's session", async () => {
    const { refresh_token } = await operator()
    const { refresh_token: theirs } = await enter(clinic.people.nurse)
    service.clock.advance(8 * HOUR - MINUTE)
    const [status, fresh] = await next(refresh_token)
    expect(status).toBe(200)
    service.clock.advance(8 * HOUR + MINUTE)
    expect((await next(fresh))[0]).toBe(401)
    expect((await next(theirs))[0]).toBe(200)
  })

  test('expires a day after sign-in even if it is used, and so does its last access token', async () => {
    let { refresh_token, access_token } = await operator()
    for (let hours = 0; hours < 23; hours += 1) {
      service.clock.advance(HOUR)
      const { status, body } = await refresh(service, refresh_token)
      expect(status).toBe(200)
      refresh_token = body.refresh_token
    }
    service.clock.advance(HOUR - MINUTE)
    const { body } = await refresh(service, refresh_token)
    access_token = body.access_token
    expect(await standing(service, access_token)).toBe(200)
    service.clock.advance(2 * MINUTE)
    expect((await next(body.refresh_token))[0]).toBe(401)
    expect(await standing(service, access_token)).toBe(401)
  })
})
