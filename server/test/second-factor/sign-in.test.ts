/** Signing in with a second factor: asked for after the password, each code good once. */
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
/** Each test is at an address of its own, so that none waits for the failures of another. */
let from: string

beforeAll(async () => {
  service = await openService({ config: { TRUSTED_PROXIES: 1 } })
})

beforeEach(async () => {
  tests += 1
  from = `198.51.100.${tests}`
  // The clock moves on from test to test, and an admin's token does not last that long.
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

describe('without a code', () => {
  test.each([undefined, null, ''])('(%j) the right password is told to bring one', async (none) => {
    const answer = await enter(none)
    expect(answer).toMatchObject({ status: 401, body: { code: 'totp_required' } })
    expect(answer.body).not.toHaveProperty('access_token')
  })

  test('a wrong password learns nothing of the second factor', async () => {
    const wrong = { password: 'wrong-Horse-9', from }
    for (const totp_code of [null, code()]) {
      const answer = await login(service, person, { ...wrong, totp_code })
      expect(answer).toMatchObject({ status: 401, body: { code: 'invalid_credentials' } })
    }
    // Nor was the code used up.
    expect((await enter(code())).status).toBe(200)
  })
})

describe('a code', () => {
  test('signs in', async () => {
    const answer = await enter(code())
    expect(answer).toMatchObject({ status: 200, body: { enrolment_required: false } })
  })

  test('that is wrong is refused like a wrong password, and journaled', async () => {
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

  test('that is wrong leaves no trace of a sign-in', async () => {
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

  test.each([-1, 0, 1])('of %i steps from now is taken', async (steps) => {
    service.clock.advance(2 * STEP)
    expect((await enter(code(steps))).status).toBe(200)
  })

  test.each([-2, 2])('of %i steps from now is refused', async (steps) => {
    service.clock.advance(3 * STEP)
    expect((await enter(code(steps))).status).toBe(401)
  })

  test('works once', async () => {
    const used = code()
    expect((await enter(used)).status).toBe(200)
    expect((await enter(used)).status).toBe(401)
    service.clock.advance(STEP)
    expect((await enter(used)).status).toBe(401)
    expect((await enter(code())).status).toBe(200)
  })

  test('older than the last that was taken is refused', async () => {
    service.clock.advance(STEP)
    expect((await enter(code(1))).status).toBe(200)
    expect((await enter(code(0))).status).toBe(401)
    expect((await enter(code(-1))).status).toBe(401)
  })

  test('of sixteen sign-ins at once lets one in', async () => {
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

  test('that enabled the factor signs nobody in', async () => {
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

describe('a recovery code', () => {
  test('signs in once, however it is typed', async () => {
    const [first = '', second = ''] = factor.recovery
    expect((await enter(` ${first.toUpperCase().replaceAll('-', ' ')} `)).status).toBe(200)
    expect((await enter(first)).status).toBe(401)
    expect((await enter(second.replaceAll('-', ''))).status).toBe(200)
    expect((await enter(code())).status).toBe(200)
  })

  test('of sixteen sign-ins at once lets one in', async () => {
    const answers = await atOnce(() => enter(factor.recovery[0]))
    expect(tally(answers)[200]).toBe(1)
    const used = await service.database.sql(
      'select 1 from recovery_codes where user_id = $1 and used_at is not null',
      [person.id],
    )
    expect(used).toHaveLength(1)
  })

  test("is nobody else's", async () => {
    const other = await newColleague(service, clinic)
    await enrol(service, other.token)
    const totp_code = factor.recovery[0] ?? ''
    expect((await login(service, other, { from, totp_code })).status).toBe(401)
  })
})

test('of sixteen transactions at once one takes the code, and one a recovery code', async () => {
  const { db, features } = service.app
  const { secondFactor } = features.auth
  for (const secret of [code(), factor.recovery[0] ?? '']) {
    const taken = await atOnce(() =>
      db.inTenant(clinic.id, (tx) => secondFactor.verifyCode(tx, person.id, secret)),
    )
    expect(taken.filter((one) => one)).toEqual([true])
  }
})

test('guesses at the code are capped like those at the password', async () => {
  for (let guess = 0; guess < 5; guess += 1) expect((await enter('000000')).status).toBe(401)
  const refused = await enter(code())
  expect(refused.status).toBe(429)
  service.clock.advance(Number(refused.headers['retry-after']) * 1000)
  service.clock.advance(STEP)
  expect((await enter(code())).status).toBe(200)
})
