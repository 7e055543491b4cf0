/** Sign-in with a second factor. It is required after the password, and each code is valid once. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { atOnce, tally } from '../races/race.ts'
import { newColleague } from '../sessions/users.ts'
import { codeOf } from '../support/accounts.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { alignClock, type Enrolled, enable, enrol, login, offered, STEP } from './enrol.ts'

let service: Service
let clinic: Clinic
let person: Person
let factor: Enrolled
let tests = 0
/** Uses another IP address in each test, so that failures of one test do not throttle another. */
let from: string

beforeAll(async () => {
  service = await openService({ config: { TRUSTED_PROXIES: 1 } })
})

beforeEach(async () => {
  tests += 1
  from = `198.51.100.${tests}`
  // Signs the admin in again, because advancing the clock in tests expires the token.
  clinic ??= await makeClinic(service, await superadmin(service), 'north')
  const admin = await login(service, clinic.people.admin)
  clinic.people.admin.token = admin.body.access_token
  person = await newColleague(service, clinic)
  alignClock(service)
  factor = await enrol(service, person.token)
})

const enter = (totp_code?: string | null) =>
  login(service, person, { from, ...(totp_code === undefined ? {} : { totp_code }) })
const code = (steps = 0) => codeOf(service, factor.secret, steps)

describe('a sign-in without a code', () => {
  test.each([undefined, null, ''])(
    '(code %j) is refused even with the correct password',
    async (none) => {
      const answer = await enter(none)
      expect(answer).toMatchObject({ status: 401, body: { code: 'totp_required' } })
      expect(answer.body).not.toHaveProperty('access_token')
    },
  )

  test('reveals nothing about the second factor if the password is wrong', async () => {
    const wrong = { password: 'wrong-Horse-9', from }
    for (const totp_code of [null, code()]) {
      const answer = await login(service, person, { ...wrong, totp_code })
      expect(answer).toMatchObject({ status: 401, body: { code: 'invalid_credentials' } })
    }
    // The refused sign-in did not use up the code.
    expect((await enter(code())).status).toBe(200)
  })
})

describe('a time-based code at sign-in', () => {
  test('signs the user in with the correct password', async () => {
    const answer = await enter(code())
    expect(answer).toMatchObject({ status: 200, body: { enrolment_required: false } })
  })

  test('is refused like a wrong password if the code is wrong, and the failure is journaled', async () => {
    const answer = await enter('000000')
    expect(answer).toMatchObject({ status: 401, body: { code: 'invalid_credentials' } })
    const [entry] = await service.database.sql(
      `select action, changes from journal where resource_type = 'user' and resource_id = $1
       order by id desc limit 1`,
      [String(person.id)],
    )
    expect(entry).toMatchObject({ action: 'auth.login_failed' })
    expect(JSON.stringify(entry)).not.toContain('000000')
  })

  test('causes no trace of a sign-in if the code is wrong', async () => {
    const state = () =>
      service.database.sql(
        `select last_login_at, (select count(*)::int from sessions where user_id = users.id) as sessions
         from users where id = $1`,
        [person.id],
      )
    const before = await state()
    await enter('000000')
    expect(await state()).toEqual(before)
  })

  test.each([-1, 0, 1])('is accepted if it is %i steps away from now', async (steps) => {
    service.clock.advance(2 * STEP)
    expect((await enter(code(steps))).status).toBe(200)
  })

  test.each([-2, 2])('is refused if it is %i steps away from now', async (steps) => {
    service.clock.advance(3 * STEP)
    expect((await enter(code(steps))).status).toBe(401)
  })

  test('can be used only once', async () => {
    const used = code()
    expect((await enter(used)).status).toBe(200)
    expect((await enter(used)).status).toBe(401)
    service.clock.advance(STEP)
    expect((await enter(used)).status).toBe(401)
    expect((await enter(code())).status).toBe(200)
  })

  test('is refused if it is older than the last accepted code', async () => {
    service.clock.advance(STEP)
    expect((await enter(code(1))).status).toBe(200)
    expect((await enter(code(0))).status).toBe(401)
    expect((await enter(code(-1))).status).toBe(401)
  })

  test('lets in only one of sixteen concurrent sign-ins', async () => {
    const used = code()
    const answers = await atOnce(() => enter(used))
    const { 200: entered, ...rest } = tally(answers)
    expect(entered).toBe(1)
    expect(Object.keys(rest).every((status) => ['401', '429'].includes(status))).toBe(true)
    const logins = await service.database.sql(
      `select 1 from sessions where user_id = $1 and created_at > $2`,
      [person.id, new Date(service.clock.now() - STEP / 2).toISOString()],
    )
    expect(logins).toHaveLength(1)
  })

  test('cannot be used again after it enabled the factor', async () => {
    const other = await newColleague(service, clinic)
    const secret = await offered(service, other.token)
    const used = codeOf(service, secret)
    expect((await enable(service, other.token, used)).status).toBe(200)
    expect((await login(service, other, { from, totp_code: used })).status).toBe(401)
    service.clock.advance(STEP)
    const next = codeOf(service, secret)
    expect((await login(service, other, { from, totp_code: next })).status).toBe(200)
  })
})

describe('a recovery code at sign-in', () => {
  test('signs the user in once, with or without hyphens and in any case', async () => {
    const [first = '', second = ''] = factor.recovery
    expect((await enter(` ${first.toUpperCase().replaceAll('-', ' ')} `)).status).toBe(200)
    expect((await enter(first)).status).toBe(401)
    expect((await enter(second.replaceAll('-', ''))).status).toBe(200)
    expect((await enter(code())).status).toBe(200)
  })

  test('lets in only one of sixteen concurrent sign-ins', async () => {
    const answers = await atOnce(() => enter(factor.recovery[0]))
    expect(tally(answers)[200]).toBe(1)
    const used = await service.database.sql(
      'select 1 from recovery_codes where user_id = $1 and used_at is not null',
      [person.id],
    )
    expect(used).toHaveLength(1)
  })

  test('of another user is refused', async () => {
    const other = await newColleague(service, clinic)
    await enrol(service, other.token)
    const totp_code = factor.recovery[0] ?? ''
    expect((await login(service, other, { from, totp_code })).status).toBe(401)
  })
})

test('only one of sixteen concurrent transactions can use a recovery code or a time-based code', async () => {
  const { db, features } = service.app
  const { secondFactor } = features.auth
  for (const secret of [code(), factor.recovery[0] ?? '']) {
    const taken = await atOnce(() =>
      db.inTenant(clinic.id, (tx) => secondFactor.verifyCode(tx, person.id, secret)),
    )
    expect(taken.filter((one) => one)).toEqual([true])
  }
})

test('wrong codes are throttled like wrong passwords', async () => {
  for (let guess = 0; guess < 5; guess += 1) expect((await enter('000000')).status).toBe(401)
  const refused = await enter(code())
  expect(refused.status).toBe(429)
  service.clock.advance(Number(refused.headers['retry-after']) * 1000)
  service.clock.advance(STEP)
  expect((await enter(code())).status).toBe(200)
})
