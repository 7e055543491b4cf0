/** The purge deletes expired sign-in data, and keeps all data that has not expired. */
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { purgeAccounts } from '../../src/features/auth/auth.jobs.ts'
import { DAY, HOUR, MINUTE } from '../../src/lib/clock.ts'
import { newColleague, refresh, standing } from '../sessions/users.ts'
import { mailedToken } from '../support/accounts.ts'
import { type Clinic, makeClinic, type Person, signIn, superadmin } from '../support/clinics.ts'
import { confirmAddress } from '../support/people.ts'
import { openService, type Service } from '../support/service.ts'
import { askForLink, login, PROXIED, register, resetPassword, verifyEmail } from './people.ts'

let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  service = await openService({ background: ['jobs'], config: PROXIED })
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
})

// Signs the administrator in again, because the session expires when a test advances the clock.
beforeEach(async () => {
  const tokens = await signIn(service, { ...clinic.people.admin, subdomain: 'north' })
  clinic.people.admin.token = tokens.access_token
})

const run = (signal = new AbortController().signal) =>
  purgeAccounts(service.app.db, service.clock, signal)

async function count(table: string, where = 'true', values: unknown[] = []): Promise<number> {
  const [row] = await service.database.sql<{ count: number }>(
    `select count(*)::int as count from ${table} where ${where}`,
    values,
  )
  return row?.count ?? Number.NaN
}

test('the purge deletes expired links, with a separate retention for each kind', async () => {
  const tenant = { token: root.token, body: { settings: { registration: 'open' } } }
  await service.call('PUT', `/api/admin/tenants/${clinic.id}`, tenant)
  const { id, email } = await register(service, 'north')
  const toVerify = await mailedToken(service, email, 'verify-email')
  await confirmAddress(service, id)
  await askForLink(service, 'request-reset', email, 'north')
  const toReset = await mailedToken(service, email, 'reset-password')
  const purposes = async () =>
    (
      await service.database.sql<{ purpose: string }>(
        'select purpose from account_tokens where user_id = $1 order by purpose',
        [id],
      )
    ).map(({ purpose }) => purpose)
  await run()
  expect(await purposes()).toEqual(['reset_password', 'verify_email'])
  service.clock.advance(HOUR + MINUTE)
  await run()
  expect(await purposes()).toEqual(['verify_email'])
  expect((await resetPassword(service, toReset)).status).toBe(400)
  expect((await verifyEmail(service, toVerify)).status).toBe(200)
})

test('the purge keeps live sessions, and deletes ended sessions after a month', async () => {
  const living = await newColleague(service, clinic)
  const ended = await newColleague(service, clinic)
  await service.call('POST', '/api/auth/logout', {
    token: ended.token,
    body: { refresh_token: ended.refresh },
  })
  const of = ({ id }: Person) => count('sessions', 'user_id = $1', [id])
  await run()
  expect([await of(living), await of(ended)]).toEqual([1, 1])
  expect(await standing(service, living.token)).toBe(200)
  let latest = living.refresh
  for (let week = 0; week < 5; week += 1) {
    service.clock.advance(7 * DAY)
    latest = (await refresh(service, latest)).body.refresh_token
    await run()
  }
  expect([await of(living), await of(ended)]).toEqual([1, 0])
  const again = await refresh(service, latest)
  expect(again.status).toBe(200)
  service.clock.advance(121 * DAY)
  await run()
  expect(await of(living)).toBe(0)
  expect(await count('refresh_tokens', 'tenant_id = $1', [clinic.id])).toBe(0)
})

test('the purge deletes used refresh tokens after the time in which they could be repeated', async () => {
  const person = await newColleague(service, clinic)
  const tokens = () =>
    count('refresh_tokens', 'session_id in (select id from sessions where user_id = $1)', [
      person.id,
    ])
  service.clock.advance(10 * DAY)
  const { body } = await refresh(service, person.refresh)
  expect(await tokens()).toBe(2)
  service.clock.advance(5 * DAY)
  await run()
  expect(await tokens()).toBe(1)
  expect((await refresh(service, body.refresh_token)).status).toBe(200)
})

test('the purge keeps the newest refresh token of each session as long as the session, for every role', async () => {
  const lives = {
    doctor: { idle: 14 * DAY, longest: 90 * DAY },
    superadmin: { idle: 8 * HOUR, longest: DAY },
  }
  for (const [role, { idle, longest }] of Object.entries(lives)) {
    const person =
      role === 'doctor' ? await newColleague(service, clinic) : await superadmin(service)
    const left = async () => {
      await run()
      return count(
        'refresh_tokens',
        'session_id = (select id from sessions where user_id = $1 order by created_at desc limit 1)',
        [person.id],
      )
    }
    const begun = service.clock.now()
    let latest = person.refresh
    while (service.clock.now() + idle - MINUTE < begun + longest) {
      service.clock.advance(idle - MINUTE)
      expect(await left(), role).toBeGreaterThan(0)
      const next = await refresh(service, latest)
      expect(next.status, role).toBe(200)
      latest = next.body.refresh_token
    }
    service.clock.advance(begun + longest - MINUTE - service.clock.now())
    expect(await left(), role).toBeGreaterThan(0)
    service.clock.advance(2 * MINUTE)
    expect(await left(), role).toBe(0)
    expect((await refresh(service, latest)).status, role).toBe(401)
  }
})

test('the purge deletes records of failed password guesses after an hour', async () => {
  await login(service, 'nobody@north.test', 'north', 'a-wrong-Guess-1')
  await run()
  const known = await count('throttles')
  expect(known).toBeGreaterThan(1)
  service.clock.advance(HOUR + MINUTE)
  await run()
  expect(await count('throttles')).toBe(0)
})

test('the purge deletes in small batches on several nodes at once, and reports unfinished work when it is stopped', async () => {
  const fill = () =>
    service.database.sql(
      `insert into throttles select sha256(n::text::bytea), 1, now(), now() - interval '1 hour'
       from generate_series(1, 3500) n`,
    )
  await fill()
  const stopped = new AbortController()
  stopped.abort()
  await expect(run(stopped.signal)).rejects.toThrow()
  expect(await count('throttles')).toBe(3500)
  await Promise.all([run(), run(), run()])
  expect(await count('throttles')).toBe(0)
})
