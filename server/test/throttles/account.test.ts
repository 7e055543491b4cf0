/** Guesses at one account: five are free, then each doubles the wait, and no wait is for good. */
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

/** Every guess comes from elsewhere, so that only the account counts. */
function elsewhere(): string {
  guesses += 1
  return `2001:db8:${guesses.toString(16)}::1`
}

const guess = (email = owner.email, subdomain: string | null = 'north') =>
  attempt(service, { email, subdomain, password: WRONG, from: elsewhere() })
const enter = () => attempt(service, { email: owner.email, from: elsewhere() })
const waitOf = async (answer: ReturnType<typeof guess>) =>
  Number((await answer).headers['retry-after'])

describe('after five failures', () => {
  test('the next guess is told to wait, a right one too', async () => {
    expect(await guessUntilRefused(guess)).toEqual({ guesses: 5, wait: 5 })
    const refused = await enter()
    expect(refused).toMatchObject({
      status: 429,
      body: { detail: expect.any(String), code: 'too_many_requests' },
    })
    expect(refused.headers['retry-after']).toMatch(/^[1-9]\d*$/)
  })

  test('each further one doubles the wait, up to a quarter of an hour and no more', async () => {
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

  test('asking while one must wait makes the wait no longer', async () => {
    const { wait } = await guessUntilRefused(guess)
    for (let times = 0; times < 20; times += 1) expect((await guess()).status).toBe(429)
    service.clock.advance(wait * 1000)
    expect((await enter()).status).toBe(200)
  })

  test('a right sign-in makes its address known, whose own count it clears', async () => {
    const home = elsewhere()
    // The fifth failure makes the account wait; from then on two mistakes in a row are free here.
    for (let round = 0; round < 6; round += 1) {
      for (let times = 0; times < 2; times += 1)
        await attempt(service, { email: owner.email, password: WRONG, from: home })
      expect((await attempt(service, { email: owner.email, from: home })).status).toBe(200)
    }
  })

  test('an hour without a failure forgets them', async () => {
    for (let times = 0; times < 4; times += 1) await guess()
    service.clock.advance(60 * 60 * 1000)
    expect(await guessUntilRefused(guess)).toEqual({ guesses: 5, wait: 5 })
  })

  test('other accounts of the tenant are as free as before', async () => {
    await guessUntilRefused(guess)
    const { email } = await makeSomeone(service, clinic)
    expect((await attempt(service, { email, from: elsewhere() })).status).toBe(200)
  })
})

describe('one account', () => {
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
  ])('is counted as one when it is typed with %s', async (_, spell) => {
    for (let times = 0; times < 3; times += 1)
      expect((await guess(spell(owner.email))).status).toBe(401)
    for (let times = 0; times < 2; times += 1) expect((await guess()).status).toBe(401)
    expect((await guess(spell(owner.email))).status).toBe(429)
    expect((await guess()).status).toBe(429)
  })

  test('that does not exist is slowed alike', async () => {
    const nobody = () => guess('nobody@north.test')
    const known = await guessUntilRefused(guess)
    expect(await guessUntilRefused(nobody)).toEqual(known)
    service.clock.advance(known.wait * 1000)
    for (const wrong of [guess, nobody]) {
      expect((await wrong()).status).toBe(401)
      expect(await waitOf(wrong())).toBe(10)
    }
    // Nor does it in a tenant that does not exist, or in none.
    for (const subdomain of ['nowhere', null])
      expect(await guessUntilRefused(() => guess('nobody@east.test', subdomain))).toBeDefined()
  })

  test.each([
    ['no tenant', [null, null, null, null, null], 'north'],
    ['its tenant', ['north', 'north', 'north', 'north', 'north'], null],
    ['its tenant and none by turns', ['north', null, 'north', null, 'north'], null],
    ['tenants that do not exist', ['a', 'b', 'c', 'd', 'e'], 'north'],
  ])('has five guesses with %s named, and no further ones with another', async (_, asked, then) => {
    // Alike for an account that is not there, so a wait tells nothing.
    for (const email of [owner.email, 'not-there@north.test']) {
      for (const subdomain of asked) expect((await guess(email, subdomain)).status).toBe(401)
      expect((await guess(email, then)).status).toBe(429)
      await forgive(service)
    }
  })
})

test('a right password that a block hinders is no guess, and does not count', async () => {
  await service.database.sql('update users set is_active = false where id = $1', [owner.id])
  for (let times = 0; times < 8; times += 1) expect((await enter()).status).toBe(403)
})
