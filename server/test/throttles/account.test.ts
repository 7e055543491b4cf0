/** Wrong guesses at one account. Five are free, and each further guess doubles the wait, up to a limit. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { forgive } from '../support/accounts.ts'
import { type Clinic, makeClinic, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { attempt, guessUntilRefused, makeSomeone, type Someone, WRONG } from './people.ts'

let service: Service
let clinic: Clinic
let owner: Someone
let guesses = 0

beforeAll(async () => {
  service = await openService({ config: { TRUSTED_PROXIES: 1 } })
  service.clock.stop()
  clinic = await makeClinic(service, await superadmin(service), 'north')
})

beforeEach(async () => {
  owner = await makeSomeone(service, clinic)
})

/** Returns a new IP address for every guess, so that only the account's count matters. */
function elsewhere(): string {
  guesses += 1
  return `2001:db8:${guesses.toString(16)}::1`
}

const guess = (email = owner.email, subdomain: string | null = 'north') =>
  attempt(service, { email, subdomain, password: WRONG, from: elsewhere() })
const enter = () => attempt(service, { email: owner.email, from: elsewhere() })
const waitOf = async (answer: ReturnType<typeof guess>) =>
  Number((await answer).headers['retry-after'])

describe('after five failed sign-ins to an account', () => {
  test('the next attempt has to wait, even with the correct password', async () => {
    expect(await guessUntilRefused(guess)).toEqual({ guesses: 5, wait: 5 })
    const refused = await enter()
    expect(refused).toMatchObject({
      status: 429,
      body: { detail: expect.any(String), code: 'too_many_requests' },
    })
    expect(refused.headers['retry-after']).toMatch(/^[1-9]\d*$/)
  })

  test('the wait doubles with each failure, up to a quarter of an hour', async () => {
    let { wait } = await guessUntilRefused(guess)
    const waits = [wait]
    for (let round = 0; round < 10; round += 1) {
      service.clock.advance(wait * 1000)
      expect((await guess()).status).toBe(401)
      wait = await waitOf(guess())
      waits.push(wait)
    }
    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 900, 900, 900])
    service.clock.advance(wait * 1000)
    expect((await enter()).status).toBe(200)
  })

  test('a sign-in during the wait does not extend the wait', async () => {
    const { wait } = await guessUntilRefused(guess)
    for (let times = 0; times < 20; times += 1) expect((await guess()).status).toBe(429)
    service.clock.advance(wait * 1000)
    expect((await enter()).status).toBe(200)
  })

  test('a correct sign-in makes its IP address known, and resets the failures from that address', async () => {
    const home = elsewhere()
    // The fifth failure throttles the account. After that, this IP address may fail twice in a row.
    for (let round = 0; round < 6; round += 1) {
      for (let times = 0; times < 2; times += 1)
        await attempt(service, { email: owner.email, password: WRONG, from: home })
      expect((await attempt(service, { email: owner.email, from: home })).status).toBe(200)
    }
  })

  test('failures are forgotten after an hour without another failure', async () => {
    for (let times = 0; times < 4; times += 1) await guess()
    service.clock.advance(60 * 60 * 1000)
    expect(await guessUntilRefused(guess)).toEqual({ guesses: 5, wait: 5 })
  })

  test('other accounts of the tenant are unaffected', async () => {
    await guessUntilRefused(guess)
    const { email } = await makeSomeone(service, clinic)
    expect((await attempt(service, { email, from: elsewhere() })).status).toBe(200)
  })
})

describe('the failure count of an account', () => {
  test.each([
    ['upper case', (email: string) => email.toUpperCase()],
    ['full-width forms', (email: string) => email.replace('user', 'ｕｓｅｒ')],
    ['a soft hyphen', (email: string) => email.replace('er', 'e\u00adr')],
    ['a zero-width space', (email: string) => `\u200b${email}`],
    ['a joiner', (email: string) => email.replace('@', '\u200d@')],
    ['a variation selector', (email: string) => `${email}\ufe0f`],
    ['a tag character', (email: string) => `${email}\u{e0061}`],
    ['a Hangul filler', (email: string) => `${email}\u3164`],
    ['a space', (email: string) => email.replace('@', '\u2003@')],
    ['a control character', (email: string) => email.replace('@', '\u0007@')],
  ])('is the same if the e-mail address is typed with %s', async (_, spell) => {
    for (let times = 0; times < 3; times += 1)
      expect((await guess(spell(owner.email))).status).toBe(401)
    for (let times = 0; times < 2; times += 1) expect((await guess()).status).toBe(401)
    expect((await guess(spell(owner.email))).status).toBe(429)
    expect((await guess()).status).toBe(429)
  })

  test('is also kept if the account does not exist', async () => {
    const nobody = () => guess('nobody@north.test')
    const known = await guessUntilRefused(guess)
    expect(await guessUntilRefused(nobody)).toEqual(known)
    service.clock.advance(known.wait * 1000)
    for (const wrong of [guess, nobody]) {
      expect((await wrong()).status).toBe(401)
      expect(await waitOf(wrong())).toBe(10)
    }
    // The same applies if the request names an unknown tenant or no tenant.
    for (const subdomain of ['nowhere', null])
      expect(await guessUntilRefused(() => guess('nobody@east.test', subdomain))).toBeDefined()
  })

  test.each([
    ['no tenant', [null, null, null, null, null], 'north'],
    ['its tenant', ['north', 'north', 'north', 'north', 'north'], null],
    ['its tenant and no tenant alternately', ['north', null, 'north', null, 'north'], null],
    ['tenants that do not exist', ['a', 'b', 'c', 'd', 'e'], 'north'],
  ])(
    'allows five guesses with %s in the request, and no further guess with another tenant value',
    async (_, asked, then) => {
      // The wait reveals nothing, because an unknown account behaves in the same way.
      for (const email of [owner.email, 'not-there@north.test']) {
        for (const subdomain of asked) expect((await guess(email, subdomain)).status).toBe(401)
        expect((await guess(email, then)).status).toBe(429)
        await forgive(service)
      }
    },
  )
})

test('a correct password that is refused because of a block does not count as a failure', async () => {
  await service.database.sql('update users set is_active = false where id = $1', [owner.id])
  for (let times = 0; times < 8; times += 1) expect((await enter()).status).toBe(403)
})
