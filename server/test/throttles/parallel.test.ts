/** Many guesses at once, on one node and on two: they count as many, and few are even checked. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { atOnce, tally } from '../races/race.ts'
import { type Clinic, makeClinic, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import {
  attempt,
  checkedGuesses,
  guessUntilRefused,
  makePeople,
  makeSomeone,
  WRONG,
} from './people.ts'

const MANY = 64
const config = { TRUSTED_PROXIES: 1 }

let service: Service
let node: Service
let clinic: Clinic

beforeEach(async () => {
  service = await openService({ config })
  node = await openService({ config, database: service.database })
  clinic = await makeClinic(service, await superadmin(service), 'north')
})

// Two nodes a test hold many connections; the server has only so many.
afterEach(async () => {
  await service.close()
  await node.close()
  await service.database.close()
})

const at = (index: number) => (index % 2 === 0 ? service : node)
const elsewhere = (index: number) => `192.0.2.${index + 1}`

describe('sixty-four guesses at once at one account', () => {
  test.each(['exists', 'does not exist'])('that %s: five are checked', async (state) => {
    const email =
      state === 'exists' ? (await makeSomeone(service, clinic)).email : 'nobody@north.test'
    const answers = await atOnce(
      (index) => attempt(service, { email, password: WRONG, from: elsewhere(index) }),
      MANY,
    )
    expect(tally(answers)).toEqual({ 401: 5, 429: MANY - 5 })
    expect(await checkedGuesses(service)).toBe(5)
  })

  test('spread over two nodes: hardly more, and both nodes then wait', async () => {
    const { email } = await makeSomeone(service, clinic)
    const answers = await atOnce(
      (index) => attempt(at(index), { email, password: WRONG, from: elsewhere(index) }),
      MANY,
    )
    const { 401: checked = 0, 429: refused = 0 } = tally(answers)
    expect(checked + refused).toBe(MANY)
    expect(checked).toBeGreaterThanOrEqual(5)
    // The other node may have been checking one while the fifth failed.
    expect(checked).toBeLessThanOrEqual(6)
    expect(await checkedGuesses(service)).toBe(checked)
    for (const one of [service, node])
      expect((await attempt(one, { email, from: '192.0.2.200' })).status).toBe(429)
  })
})

test('six hundred guesses at once from one address: twenty are answered, and the rest wait', async () => {
  // Else the first wait of two seconds is over on a slow machine before the last guess is made.
  service.clock.stop()
  const answers = await atOnce(
    (index) =>
      attempt(service, {
        email: `made-up-${index}@north.test`,
        password: WRONG,
        from: '192.0.2.1',
      }),
    600,
  )
  const { 401: checked = 0, 429: refused = 0, 503: turnedAway = 0, ...rest } = tally(answers)
  expect(rest).toEqual({})
  expect(checked).toBe(20)
  expect(checked + refused + turnedAway).toBe(600)
  // Who is elsewhere finds nobody in front.
  const { email } = await makeSomeone(service, clinic)
  expect((await attempt(service, { email, from: '192.0.2.2' })).status).toBe(200)
})

test('two nodes count together, whichever of them is asked', async () => {
  const { email } = await makeSomeone(service, clinic)
  let asked = 0
  const guess = () => {
    asked += 1
    return attempt(at(asked), { email, password: WRONG, from: elsewhere(asked) })
  }
  expect((await guessUntilRefused(guess)).guesses).toBe(5)
})

test('the counts outlast the nodes', async () => {
  const { email } = await makeSomeone(service, clinic)
  await guessUntilRefused(() => attempt(service, { email, password: WRONG }))
  const refusedAt = service.clock.now()
  await service.close()
  await node.close()
  const next = await openService({ config, database: service.database })
  // However long the nodes take to change: the first wait is five seconds.
  next.clock.advance(refusedAt - next.clock.now())
  expect((await attempt(next, { email })).status).toBe(429)
  await next.close()
})

test('failures of eight accounts from one address at once never wait for each other', async () => {
  const people = await makePeople(service, clinic, 8)
  const answers = await atOnce((index) => {
    const email = people[index % 8]?.email ?? ''
    return attempt(at(index), { email, password: WRONG, from: '192.0.2.1' })
  }, MANY)
  const { 401: checked = 0, 429: refused = 0, ...rest } = tally(answers)
  expect(rest).toEqual({})
  expect(checked + refused).toBe(MANY)
  expect(refused).toBeGreaterThan(0)
  // What the nodes' connections met is written down by the time that they are closed.
  await service.close()
  await node.close()
  const [met] = await service.database.sql<{ deadlocks: number }>(
    'select deadlocks::int from pg_stat_database where datname = current_database()',
  )
  expect(met?.deadlocks).toBe(0)
})
