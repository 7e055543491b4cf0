/** A refresh token can be used once, with ten seconds of grace. It expires after fourteen idle days or ninety days. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { DAY, MINUTE, SECOND } from '../../src/lib/clock.ts'
import { jtiOf, newColleague, refresh, renewAdmin, standing } from '../sessions/users.ts'
import { type Clinic, makeClinic, type Person, signIn, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let clinic: Clinic
let person: Person

beforeAll(async () => {
  service = await openService()
  clinic = await makeClinic(service, await superadmin(service), 'north')
})

beforeEach(async () => {
  await renewAdmin(service, clinic)
  person = await newColleague(service, clinic)
})

/** Refreshes the session, and returns the new tokens. */
async function next(token: string) {
  const { status, body } = await refresh(service, token)
  expect(status).toBe(200)
  return body as { access_token: string; refresh_token: string }
}

describe('a refresh', () => {
  test('returns new tokens of the same session and user', async () => {
    const { status, body } = await refresh(service, person.refresh)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      token_type: 'bearer',
      expires_in: 900,
      tenant_id: clinic.id,
      user_id: person.id,
      role: 'doctor',
      demo_mode: false,
    })
    expect(jtiOf(body.access_token)).toBe(jtiOf(person.token))
    expect(await standing(service, body.access_token)).toBe(200)
    expect(await standing(service, person.token)).toBe(200)
  })

  test('stores only the hash of the new refresh token', async () => {
    const { refresh_token } = await next(person.refresh)
    const rows = await service.database.sql<{ row: string }>(
      `select row_to_json(t)::text || encode(token_hash, 'escape') as row from refresh_tokens t`,
    )
    const kept = rows.map(({ row }) => row).join('\n')
    for (const token of [person.refresh, refresh_token]) {
      const secret = token.split('.')[1] ?? ''
      expect(secret).toHaveLength(43)
      expect(kept).not.toContain(secret)
      expect(kept).not.toContain(Buffer.from(secret, 'base64url').toString('hex'))
    }
  })
})

describe('a refresh token that was already used', () => {
  test('gets the same new tokens again within ten seconds', async () => {
    const first = await next(person.refresh)
    service.clock.advance(5 * SECOND)
    const again = await next(person.refresh)
    expect(again.refresh_token).toBe(first.refresh_token)
    expect(await standing(service, again.access_token)).toBe(200)
  })

  test('gets the same new refresh token even if that was used already', async () => {
    const first = await next(person.refresh)
    const second = await next(first.refresh_token)
    expect((await next(person.refresh)).refresh_token).toBe(first.refresh_token)
    expect((await next(first.refresh_token)).refresh_token).toBe(second.refresh_token)
    expect((await refresh(service, second.refresh_token)).status).toBe(200)
  })

  test('ends its session with all tokens if it is used later, and that is journaled', async () => {
    const { access_token, refresh_token } = await next(person.refresh)
    service.clock.advance(11 * SECOND)
    const replay = await refresh(service, person.refresh)
    expect(replay).toMatchObject({ status: 401, body: { code: 'invalid_refresh_token' } })
    expect(await standing(service, access_token)).toBe(401)
    expect(await standing(service, person.token)).toBe(401)
    expect((await refresh(service, refresh_token)).status).toBe(401)
    expect((await refresh(service, person.refresh)).status).toBe(401)
    const entries = await service.database.sql(
      `select tenant_id, user_id, resource_type from journal
       where action = 'auth.refresh_reused' and resource_id = $1`,
      [jtiOf(person.token)],
    )
    expect(entries).toEqual([
      { tenant_id: clinic.id, user_id: person.id, resource_type: 'session' },
    ])
  })

  test('ends no other session of its user', async () => {
    const other = await signIn(service, { ...person, subdomain: 'north' })
    await next(person.refresh)
    service.clock.advance(11 * SECOND)
    await refresh(service, person.refresh)
    expect(await standing(service, other.access_token)).toBe(200)
    expect((await refresh(service, other.refresh_token)).status).toBe(200)
  })

  test('ends its session even if it has expired in the meantime', async () => {
    const { refresh_token } = await next(person.refresh)
    service.clock.advance(13 * DAY)
    const latest = await next(refresh_token)
    service.clock.advance(3 * DAY)
    expect((await refresh(service, person.refresh)).status).toBe(401)
    expect((await refresh(service, latest.refresh_token)).status).toBe(401)
  })
})

describe('a session', () => {
  test('continues as long as it is refreshed at least every fourteen days', async () => {
    let token = person.refresh
    for (let week = 0; week < 4; week += 1) {
      service.clock.advance(13 * DAY)
      token = (await next(token)).refresh_token
    }
    service.clock.advance(14 * DAY - 5 * SECOND)
    expect((await refresh(service, token)).status).toBe(200)
  })

  test('ends after fourteen days without a refresh', async () => {
    const { refresh_token } = await next(person.refresh)
    service.clock.advance(14 * DAY + SECOND)
    expect((await refresh(service, refresh_token)).status).toBe(401)
  })

  test('ends after ninety days, however often it was refreshed', async () => {
    let token = person.refresh
    for (let day = 10; day < 90; day += 10) {
      service.clock.advance(10 * DAY)
      token = (await next(token)).refresh_token
    }
    service.clock.advance(10 * DAY - 5 * SECOND)
    token = (await next(token)).refresh_token
    service.clock.advance(10 * SECOND)
    expect((await refresh(service, token)).status).toBe(401)
  })
})

describe('a forged refresh token', () => {
  const secret = 'A'.repeat(43)
  const forged: [string, () => string][] = [
    ['with a valid format', () => `${clinic.id}.${secret}`],
    ['of tenant 0', () => `0.${secret}`],
    ['of a tenant that does not exist', () => `98765.${secret}`],
    ['of a tenant above 2^53 - 1', () => `9999999999999999.${secret}`],
    ['of a tenant above 2^63', () => `99999999999999999999.${secret}`],
    ['of a negative tenant', () => `-1.${secret}`],
    ['with another tenant ID', () => person.refresh.replace(/^\d+/, '1')],
    ['with leading zeros', () => `00${person.refresh}`],
    ['without its last character', () => person.refresh.slice(0, -1)],
    ['with an additional character', () => `${person.refresh}A`],
    ['with a leading space', () => ` ${person.refresh}`],
    ['with a line break at its end', () => `${person.refresh}\n`],
    ['without a tenant', () => person.refresh.split('.')[1] ?? ''],
    ['in lower case', () => person.refresh.toLowerCase()],
    ['that contains SQL', () => `${clinic.id}.' or true --`],
    ['in the format of a hash', () => `${clinic.id}.${'0'.repeat(64)}`],
  ]
  test.each(forged)('changes nothing: a token %s', async (_, forge) => {
    const answer = await refresh(service, forge())
    expect(answer).toMatchObject({ status: 401, body: { code: 'invalid_refresh_token' } })
    expect(await standing(service, person.token)).toBe(200)
    expect((await refresh(service, person.refresh)).status).toBe(200)
  })
})

test('refreshes of a session are limited per minute on a node, and refused ones do not use up the token', async () => {
  const limited = await openService({ config: { WRITE_RATE_LIMIT_PER_MINUTE: 2 } })
  let token = (await superadmin(limited)).refresh
  const rotate = async () => {
    const answer = await refresh(limited, token)
    expect(answer.status).toBe(200)
    token = answer.body.refresh_token
  }
  // Refreshes until the limit is exceeded by the last refresh.
  for (let times = 0; times < 3; times += 1) await rotate()
  const spent = () =>
    limited.database.sql(
      `select (select count(*)::int from refresh_tokens where spent_at is not null) as tokens,
        (select count(*)::int from journal where action = 'auth.token_refreshed') as entries`,
    )
  expect(await spent()).toEqual([{ tokens: 3, entries: 3 }])
  for (let times = 0; times < 2; times += 1) {
    const refused = await refresh(limited, token)
    expect(refused).toMatchObject({ status: 429, body: { code: 'too_many_requests' } })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  }
  expect(await spent()).toEqual([{ tokens: 3, entries: 3 }])
  const other = await superadmin(limited)
  expect((await refresh(limited, other.refresh)).status).toBe(200)
  limited.clock.advance(MINUTE)
  await rotate()
})
