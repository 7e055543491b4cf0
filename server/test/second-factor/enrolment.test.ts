/** Enrolment of a second factor: the offered secret, and the requirements and results of enabling it. */
import { URI } from 'otpauth'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { newColleague } from '../sessions/users.ts'
import { codeOf } from '../support/accounts.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
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
let clinic: Clinic
let person: Person

beforeAll(async () => {
  service = await openService()
  clinic = await makeClinic(service, await superadmin(service), 'north')
})

beforeEach(async () => {
  person = await newColleague(service, clinic)
  alignClock(service)
})

const profile = async () =>
  (await service.call('GET', '/api/users/me', { token: person.token })).body

describe('a new secret for a second factor', () => {
  test('has 160 bits in base32, and a URL with all parameters for an authenticator app', async () => {
    const { status, body } = await setUp(service, person.token)
    expect(status).toBe(200)
    expect(body.secret).toMatch(/^[A-Z2-7]{32}$/)
    const app = URI.parse(body.otpauth_url)
    expect(app).toMatchObject({
      // Authenticator apps use these fields to distinguish the accounts of a person in several tenants.
      issuer: 'Clinic north',
      label: `${person.email} (${clinic.subdomain})`,
      algorithm: 'SHA1',
      digits: 6,
      period: 30,
    })
    expect(app.secret.base32).toBe(body.secret)
  })

  test('is also returned as a QR code: one well-formed SVG element without scripts', async () => {
    const { qr_svg: svg } = (await setUp(service, person.token)).body
    expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"[^<>]*>.*<\/svg>$/s)
    expect(svg).not.toMatch(/<script|\bon\w+=|href/i)
    expect(elementsLeftOpen(svg)).toEqual([])
  })

  test('is returned only with the password, so that a stolen session alone cannot set up a factor', async () => {
    const bare = await setUp(service, person.token, null)
    expect([bare.status, bare.body.detail]).toEqual([422, [PASSWORD_MISSING]])
    for (let guess = 0; guess < 5; guess += 1) {
      const wrong = await setUp(service, person.token, { password: `wrong-Horse-${guess}` })
      expect(wrong).toMatchObject({ status: 403, body: { code: 'wrong_password' } })
    }
    expect((await setUp(service, person.token)).status).toBe(429)
    const enabled = await enable(service, person.token, '123456')
    expect(enabled).toMatchObject({ status: 409, body: { code: 'totp_not_set_up' } })
    expect(await journaled()).toEqual([])
  })

  test('changes nothing at sign-in until the factor is enabled', async () => {
    await setUp(service, person.token)
    expect(await profile()).toMatchObject({ totp_enabled: false })
    expect((await login(service, person)).status).toBe(200)
  })

  test('is different each time, and only the latest one is valid', async () => {
    const first = await offered(service, person.token)
    const second = await offered(service, person.token)
    expect(second).not.toBe(first)
    const refused = await enable(service, person.token, codeOf(service, first))
    expect(refused).toMatchObject({ status: 403, body: { code: 'wrong_code' } })
    expect((await enable(service, person.token, codeOf(service, second))).status).toBe(200)
  })
})

describe('enabling a second factor', () => {
  test('returns ten recovery codes, all different', async () => {
    const { recovery } = await enrol(service, person.token)
    expect(new Set(recovery).size).toBe(10)
    for (const code of recovery) expect(code).toMatch(/^([a-z2-9]{4}-){5}[a-z2-9]{4}$/)
  })

  test("is immediately visible in the profile, in the admin's view of the user and in the journal", async () => {
    expect(await profile()).toMatchObject({ totp_enabled: false })
    await enrol(service, person.token)
    expect(await profile()).toMatchObject({ totp_enabled: true })
    const seen = await service.call('GET', `/api/admin/users/${person.id}`, {
      token: clinic.people.admin.token,
    })
    expect(seen.body).toMatchObject({ totp_enabled: true })
    expect(await journaled()).toEqual(['auth.totp_offered', 'auth.totp_enabled'])
  })

  test('requires a valid code', async () => {
    const secret = await offered(service, person.token)
    for (const code of ['000000', '12345', 'abcdef', codeOf(service, secret, -3)]) {
      const answer = await enable(service, person.token, code)
      expect(answer).toMatchObject({ status: 403, body: { code: 'wrong_code' } })
    }
    expect(await profile()).toMatchObject({ totp_enabled: false })
    expect(await journaled()).toEqual(['auth.totp_offered'])
  })

  test('accepts the code with spaces, as apps show it', async () => {
    const code = codeOf(service, await offered(service, person.token))
    const spaced = ` ${code.slice(0, 3)} ${code.slice(3)} `
    expect((await enable(service, person.token, spaced)).status).toBe(200)
  })

  test('is refused if no secret was created before', async () => {
    expect(await enable(service, person.token, '123456')).toMatchObject({
      status: 409,
      body: { code: 'totp_not_set_up' },
    })
  })

  test('succeeds for only one of sixteen concurrent calls', async () => {
    const code = codeOf(service, await offered(service, person.token))
    const answers = await Promise.all(
      Array.from({ length: 16 }, () => enable(service, person.token, code)),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status === 409)).toHaveLength(15)
    const kept = await service.database.sql('select 1 from recovery_codes where user_id = $1', [
      person.id,
    ])
    expect(kept).toHaveLength(10)
    expect(await journaled()).toEqual(['auth.totp_offered', 'auth.totp_enabled'])
  })

  test('cannot be repeated: another secret or code is refused afterwards', async () => {
    const { secret } = await enrol(service, person.token)
    expect(await setUp(service, person.token)).toMatchObject({
      status: 409,
      body: { code: 'totp_enabled' },
    })
    const again = await enable(service, person.token, codeOf(service, secret))
    expect(again).toMatchObject({ status: 409, body: { code: 'totp_enabled' } })
    expect((await login(service, person, { totp_code: codeOf(service, secret) })).status).toBe(200)
  })

  test('is throttled after repeated wrong codes', async () => {
    const secret = await offered(service, person.token)
    for (let guess = 0; guess < 5; guess += 1)
      expect((await enable(service, person.token, '000000')).status).toBe(403)
    const refused = await enable(service, person.token, codeOf(service, secret))
    expect(refused.status).toBe(429)
    const wait = Number(refused.headers['retry-after'])
    expect(wait).toBeGreaterThan(0)
    service.clock.advance(Math.max(wait * 1000, STEP))
    expect((await enable(service, person.token, codeOf(service, secret))).status).toBe(200)
  })
})

async function journaled(): Promise<unknown[]> {
  const entries = await service.database.sql(
    `select action from journal where action like 'auth.totp%' and resource_id = $1 order by id`,
    [String(person.id)],
  )
  return entries.map(({ action }) => action)
}

/** Returns the elements of an XML text that are not closed, or not in order. */
function elementsLeftOpen(xml: string): string[] {
  const open: string[] = []
  for (const [, closes, name = '', empty] of xml.matchAll(/<(\/?)([a-z]+)[^<>]*?(\/?)>/g)) {
    if (empty) continue
    if (!closes) open.push(name)
    else if (open.at(-1) === name) open.pop()
    else open.push(`/${name}`)
  }
  return open
}
