/** Many concurrent guesses, on one node and on two. All of them count, and only a few are checked. */
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

// Closes the nodes, because each test opens two nodes with many connections and the server allows only a limited
// number.
afterEach(async () => {
  await service.close()
  await node.close()
  await service.database.close()
})

const at = (index: number) => (index % 2 === 0 ? service : node)
const elsewhere = (index: number) => `192.0.2.${index + 1}`

describe('sixty-four concurrent guesses at an account', () => {
  test.each(['exists', 'does not exist'])(
    'are checked five times if the account %s',
    async (state) => {
      const email =
        state === 'exists' ? (await makeSomeone(service, clinic)).email : 'nobody@north.test'
      const answers = await atOnce(
        (index) => attempt(service, { email, password: WRONG, from: elsewhere(index) }),
        MANY,
      )
      expect(tally(answers)).toEqual({ 401: 5, 429: MANY - 5 })
      expect(await checkedGuesses(service)).toBe(5)
    },
  )

  test('on two nodes are checked at most six times, and both nodes throttle the account afterwards', async () => {
    const { email } = await makeSomeone(service, clinic)
    const answers = await atOnce(
      (index) => attempt(at(index), { email, password: WRONG, from: elsewhere(index) }),
      MANY,
    )
    const { 401: checked = 0, 429: refused = 0 } = tally(answers)
    expect(checked + refused).toBe(MANY)
    expect(checked).toBeGreaterThanOrEqual(5)
    // The other node may check one more guess while the fifth failure is being recorded.
    expect(checked).toBeLessThanOrEqual(6)
    expect(await checkedGuesses(service)).toBe(checked)
    for (const one of [service, node])
      expect((await attempt(one, { email, from: '192.0.2.200' })).status).toBe(429)
  })
})

test('of six hundred concurrent guesses from one IP address, twenty are checked and the others refused', async () => {
  // Stops the clock. Otherwise, on a slow machine, the first wait of two seconds could end before the last guess is
  // sent.
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
  // A caller at another IP address finds an empty queue.
  const { email } = await makeSomeone(service, clinic)
  expect((await attempt(service, { email, from: '192.0.2.2' })).status).toBe(200)
})

test('two nodes count failures together, even if each request reaches another node', async () => {
  const { email } = await makeSomeone(service, clinic)
  let asked = 0
  const guess = () => {
    asked += 1
    return attempt(at(asked), { email, password: WRONG, from: elsewhere(asked) })
  }
  expect((await guessUntilRefused(guess)).guesses).toBe(5)
})

test('failure counts are kept when all nodes are replaced', async () => {
  const { email } = await makeSomeone(service, clinic)
  await guessUntilRefused(() => attempt(service, { email, password: WRONG }))
  const refusedAt = service.clock.now()
  await service.close()
  await node.close()
  const next = await openService({ config, database: service.database })
  // Sets the new node's clock to the time of the refusal. The first wait is only five seconds, so no time may pass
  // while the nodes are replaced.
  next.clock.advance(refusedAt - next.clock.now())
  expect((await attempt(next, { email })).status).toBe(429)
  await next.close()
})

test('concurrent failures of eight accounts from one IP address cause no deadlock', async () => {
  const people = await makePeople(service, clinic, 8)
  const answers = await atOnce((index) => {
    const email = people[index % 8]?.email ?? ''
    return attempt(at(index), { email, password: WRONG, from: '192.0.2.1' })
  }, MANY)
  const { 401: checked = 0, 429: refused = 0, ...rest } = tally(answers)
  expect(rest).toEqual({})
  expect(checked + refused).toBe(MANY)
  expect(refused).toBeGreaterThan(0)
  // PostgreSQL records the failures of the nodes' connections when the connections close.
  await service.close()
  await node.close()
  const [met] = await service.database.sql<{ deadlocks: number }>(
    'select deadlocks::int from pg_stat_database where datname = current_database()',
  )
  expect(met?.deadlocks).toBe(0)
})
