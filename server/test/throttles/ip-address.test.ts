/** Guesses at many accounts from one IP address, and how the service finds the caller's address behind proxies. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { tally } from '../races/race.ts'
import { type Clinic, makeClinic, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { attempt, guessUntilRefused, makePeople, makeSomeone, WRONG } from './people.ts'

let service: Service
let clinic: Clinic
let tests = 0
let address: string

beforeAll(async () => {
  service = await openService({ config: { TRUSTED_PROXIES: 1 } })
  service.clock.stop()
  clinic = await makeClinic(service, await superadmin(service), 'north')
})

beforeEach(() => {
  tests += 1
  address = `198.51.100.${tests}`
})

let guessed = 0
/** Guesses the password of an account that was not tried before. */
function guess(from = address, at = service) {
  guessed += 1
  return attempt(at, { email: `person-${guessed}@north.test`, password: WRONG, from })
}

describe('guesses at many accounts from one IP address', () => {
  test('are throttled after twenty, with growing waits of at most a minute', async () => {
    let { guesses, wait } = await guessUntilRefused(guess)
    expect({ guesses, wait }).toEqual({ guesses: 20, wait: 2 })
    const waits: number[] = []
    for (let round = 0; round < 7; round += 1) {
      service.clock.advance(wait * 1000)
      expect((await guess()).status).toBe(401)
      wait = Number((await guess()).headers['retry-after'])
      waits.push(wait)
    }
    expect(waits).toEqual([4, 8, 16, 32, 60, 60, 60])
  })

  test('count together within one IPv6 /64 network', async () => {
    let neighbour = 0
    const { guesses } = await guessUntilRefused(() => {
      neighbour += 1
      return guess(`2001:db8:64::${neighbour.toString(16)}`)
    })
    expect(guesses).toBe(20)
  })

  test('count together, with a higher limit, within one IPv6 /48 site', async () => {
    let network = 0
    const { guesses } = await guessUntilRefused(() => {
      network += 1
      return guess(`2001:db8:48:${network.toString(16)}::1`)
    })
    expect(guesses).toBe(40)
    expect((await guess('2001:db8:49::1')).status).toBe(401)
  })

  test('delay no caller at another IP address', async () => {
    await guessUntilRefused(guess)
    const { email } = await makeSomeone(service, clinic)
    expect((await attempt(service, { email, from: '192.0.2.1' })).status).toBe(200)
  })

  test('count even if there is a correct sign-in between them', async () => {
    const { email } = await makeSomeone(service, clinic)
    for (let times = 0; times < 4; times += 1) {
      for (let more = 0; more < 5; more += 1) expect((await guess()).status).toBe(401)
      expect((await attempt(service, { email, from: address })).status).toBe(200)
    }
    expect((await guess()).status).toBe(429)
  })
})

test('two hundred users who sign in from one IP address within a minute are not throttled', async () => {
  // Uses the default limits.
  const { AUTH_RATE_LIMIT_PER_MINUTE, RATE_LIMIT_PER_MINUTE } = readConfig({})
  const node = await openService({
    database: service.database,
    config: {
      TRUSTED_PROXIES: 1,
      AUTH_RATE_LIMIT_PER_MINUTE,
      RATE_LIMIT_PER_MINUTE,
      DATABASE_POOL_SIZE: 30,
    },
  })
  const people = await makePeople(service, clinic, 200)
  const answers = await Promise.all(
    people.map(({ email }) => attempt(node, { email, from: address })),
  )
  expect(tally(answers)).toEqual({ 200: 200 })
  // Users who mistype once and then succeed are not throttled either. Each iteration signs in a few of them at a time.
  for (const { email } of people.slice(0, 15)) {
    expect((await attempt(node, { email, password: WRONG, from: address })).status).toBe(401)
    expect((await attempt(node, { email, from: address })).status).toBe(200)
  }
})

describe('an IP address behind proxies', () => {
  /** Returns the client IP address that the service determines for a sign-in with this header. */
  async function seenFrom(hops: number, forwarded: string): Promise<unknown> {
    const node = await openService({
      database: service.database,
      config: { TRUSTED_PROXIES: hops },
    })
    const { email, id } = await makeSomeone(service, clinic)
    expect((await attempt(node, { email, from: forwarded })).status).toBe(200)
    const [session] = await service.database.sql('select ip from sessions where user_id = $1', [id])
    await node.close()
    return session?.ip
  }

  test.each([
    [0, '192.0.2.7', '127.0.0.1'],
    [0, '192.0.2.7, 192.0.2.8', '127.0.0.1'],
    [1, '192.0.2.7', '192.0.2.7'],
    [1, '192.0.2.6, 192.0.2.7', '192.0.2.7'],
    [1, '10.0.0.1, 127.0.0.1, 192.0.2.7', '192.0.2.7'],
    [2, '192.0.2.7, 192.0.2.8', '192.0.2.7'],
    [2, '192.0.2.6, 192.0.2.7, 192.0.2.8', '192.0.2.7'],
    [2, '192.0.2.7', '192.0.2.7'],
    // Some proxies add the port, or write an IPv4 address as IPv6.
    [1, '192.0.2.7:51344', '192.0.2.7'],
    [1, '[2001:db8::1]:443', '2001:db8::1'],
    [1, '::ffff:192.0.2.7', '192.0.2.7'],
    [2, '192.0.2.7:51344, 192.0.2.8:443', '192.0.2.7'],
    [1, '192.0.2.7, unknown', '127.0.0.1'],
  ])('is found by trusting %i proxies in "%s": %s', async (hops, forwarded, ip) => {
    expect(await seenFrom(hops, forwarded)).toBe(ip)
  })

  test('is throttled even if each request has another forged header', async () => {
    const node = await openService({ database: service.database, config: { TRUSTED_PROXIES: 0 } })
    let claimed = 0
    const spoofed = () => {
      claimed += 1
      return guess(`192.0.2.${claimed}`, node)
    }
    expect((await guessUntilRefused(spoofed)).guesses).toBe(20)
    const beyond = () => {
      claimed += 1
      return guess(`192.0.2.${claimed}, ${address}`)
    }
    expect((await guessUntilRefused(beyond)).guesses).toBe(20)
  })
})
