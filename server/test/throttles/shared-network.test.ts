/**
 * Guesses from a guest at the clinic's address, or from a stranger behind the same proxy. They lock out no known user,
 * and the answers reveal nothing.
 */
import { beforeEach, describe, expect, test } from 'vitest'
import { type Clinic, makeClinic, superadmin } from '../support/clinics.ts'
import { type Answer, openService, type Service } from '../support/service.ts'
import {
  attempt,
  checkedGuesses,
  guessUntilRefused,
  makeSomeone,
  type Someone,
  WRONG,
} from './people.ts'

const CLINIC = '198.51.100.7'

let service: Service
let clinic: Clinic
let owner: Someone
let guessed = 0

const enter = (someone = owner) => attempt(service, { email: someone.email, from: CLINIC })
const guess = (email: string) => attempt(service, { email, password: WRONG, from: CLINIC })
/** Guesses at an account that does not exist. */
function madeUp(): Promise<Answer> {
  guessed += 1
  return guess(`guest-${guessed}@north.test`)
}

async function open(hops: number, config = {}): Promise<void> {
  service = await openService({ config: { TRUSTED_PROXIES: hops, ...config } })
  service.clock.stop()
  clinic = await makeClinic(service, await superadmin(service), 'north')
  owner = await makeSomeone(service, clinic)
  expect((await enter()).status).toBe(200)
}

describe.each([
  [1, "the clinic's address"],
  [0, 'a proxy that is not trusted'],
])('with %i trusted proxies, behind %s,', (hops) => {
  beforeEach(() => open(hops))

  test('the owner of an account can sign in each time while a guest on the same network keeps guessing', async () => {
    await guessUntilRefused(madeUp)
    for (let round = 0; round < 30; round += 1) {
      const refused = await madeUp()
      expect(refused.status).toBe(429)
      expect((await enter()).status).toBe(200)
      service.clock.advance(Number(refused.headers['retry-after']) * 1000)
      expect((await madeUp()).status).toBe(401)
      expect((await enter()).status).toBe(200)
    }
  })
})

describe('with a rate limit of sign-ins per IP address,', () => {
  beforeEach(() => open(1, { AUTH_RATE_LIMIT_PER_MINUTE: 8 }))

  const refresh = (refresh_token: string) =>
    service.call('POST', '/api/auth/refresh', {
      body: { refresh_token },
      headers: { 'x-forwarded-for': CLINIC },
    })

  test('the owner of an account can still sign in and refresh during many such requests of others', async () => {
    const { body } = await enter()
    for (let call = 0; call < 30; call += 1) expect((await refresh('made-up')).status).toBe(401)
    const statuses: number[] = []
    for (let call = 0; call < 10; call += 1) statuses.push((await madeUp()).status)
    // Two of these responses are for the owner.
    expect(statuses).toEqual([...Array(6).fill(401), ...Array(4).fill(429)])
    expect((await enter()).status).toBe(200)
    expect((await refresh(String(body.refresh_token))).status).toBe(200)
  })

  test('a wrong password above the limit gets the same response for known, unknown and missing accounts', async () => {
    const stranger = await makeSomeone(service, clinic)
    for (let call = 0; call < 7; call += 1) expect((await madeUp()).status).toBe(401)
    for (const answer of [
      await guess(owner.email),
      await guess(stranger.email),
      await guess('nobody@north.test'),
      await enter(stranger),
    ]) {
      expect(answer).toMatchObject({ status: 429, body: { code: 'too_many_requests' } })
      expect(answer.headers).not.toHaveProperty('ratelimit')
    }
  })

  test("sign-ins of the account's owner also count", async () => {
    for (let call = 0; call < 7; call += 1) expect((await enter()).status).toBe(200)
    expect((await enter()).status).toBe(429)
  })
})

test('an owner who is known at the IP address can sign in while guesses fill the queue', async () => {
  await open(1)
  const flood = Array.from({ length: 300 }, madeUp)
  const entered = await enter()
  const statuses = (await Promise.all(flood)).map(({ status }) => status)
  // The queue was full when the owner signed in: eight checks run at a time, and 256 can wait.
  expect(statuses).toContain(503)
  expect(entered.status).toBe(200)
})

describe('while the IP address has to wait,', () => {
  beforeEach(async () => {
    await open(1)
    await guessUntilRefused(madeUp)
    // Raises the wait to its maximum, so that all following requests arrive during it.
    for (let wait = 2; wait <= 60; wait *= 2) {
      service.clock.advance(wait * 1000)
      expect((await madeUp()).status).toBe(401)
    }
  })

  const seen = ({ status, body, headers }: Answer) => {
    const { 'x-request-id': _, date: __, ...rest } = headers
    return { status, body, headers: rest }
  }

  test('a wrong password gets the same response for known, unknown and missing accounts', async () => {
    const stranger = await makeSomeone(service, clinic)
    const answers = [
      await guess(owner.email),
      await guess(stranger.email),
      await guess('nobody@north.test'),
      // The correct password does not help for an account that is not known at this address.
      await enter(stranger),
    ].map(seen)
    expect(answers[0]).toMatchObject({ status: 429, headers: { 'retry-after': '60' } })
    for (const answer of answers) expect(answer).toEqual(answers[0])
  })

  test('guesses at an account known there are journaled, and throttled after three', async () => {
    const before = await checkedGuesses(service)
    for (let times = 0; times < 5; times += 1) expect((await guess(owner.email)).status).toBe(429)
    await guess('nobody@north.test')
    expect(await checkedGuesses(service)).toBe(before + 3)
    expect((await enter()).status).toBe(429)
    service.clock.advance(5_000)
    expect((await madeUp()).status).toBe(429)
    expect((await enter()).status).toBe(200)
  })

  test('only three of sixty-four concurrent guesses at an account known there are checked', async () => {
    const before = await checkedGuesses(service)
    const passwords = Array.from({ length: 64 }, (_, index) =>
      index === 20 ? undefined : `wrong-Horse-${index}`,
    )
    const answers = await Promise.all(
      passwords.map((password) =>
        attempt(service, { email: owner.email, from: CLINIC, ...(password ? { password } : {}) }),
      ),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([429]))
    expect(await checkedGuesses(service)).toBe(before + 3)
  })

  test('guesses at any account do not extend the wait', async () => {
    for (let times = 0; times < 10; times += 1) await madeUp()
    expect((await madeUp()).headers['retry-after']).toBe('60')
    service.clock.advance(60_000)
    expect((await madeUp()).status).toBe(401)
  })
})

test('throttled guesses from another IP address get the same response for known and other accounts', async () => {
  await open(1)
  const stranger = '203.0.113.9'
  const nobody = 'nobody@north.test'
  for (const email of [owner.email, nobody])
    await guessUntilRefused(() => attempt(service, { email, password: WRONG, from: stranger }))
  const [known, unknown] = [await guess(owner.email), await guess(nobody)]
  expect([known.status, known.headers['retry-after']]).toEqual([429, '5'])
  expect([unknown.status, unknown.headers['retry-after']]).toEqual([429, '5'])
  expect((await enter()).status).toBe(200)
})
