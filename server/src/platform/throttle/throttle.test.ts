/** Tests the throttle: which events it counts, what clears a count, and that no failure is lost. */

import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { gate, scopesOf } from '../../../test/sessions/scopes.ts'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { until } from '../../../test/support/until.ts'
import { isoAt } from '../../lib/clock.ts'
import { Problem } from '../../lib/problems.ts'
import { deleteOutdatedRows } from '../feature/outdated.ts'
import { type GuessCount, OUTDATED_THROTTLES, openThrottle, type Throttle } from './index.ts'

let database: TestDatabase
let throttle: Throttle
let other: Throttle
const clock = { now: () => 1_800_000_000_000 + moved.ms }
const moved = { ms: 0 }
let names = 0

beforeAll(async () => {
  database = await migratedDatabase()
  throttle = openThrottle(scopesOf(database), clock, silentLog)
  other = openThrottle(scopesOf(database), clock, silentLog)
})

/**
 * Returns a new count with a rule of its own.
 * @param free the number of failures that cause no delay
 */
function fresh(free = 5): GuessCount {
  names += 1
  return { rule: { name: `rule ${names}`, free, first: 5, longest: 900 }, of: 'someone' }
}

const wrong = () => Promise.reject(new Problem('invalid_credentials'))
const failed = (counts: [GuessCount, ...GuessCount[]], by = throttle) =>
  by.guess(counts, wrong).catch((error: Problem) => error.code)
const failures = async () =>
  (await database.sql('select failures from throttles')).map((row) => row.failures)

test('the throttle loses no failure, even if several nodes count concurrently', async () => {
  const shared = fresh(1000)
  await Promise.all(
    Array.from({ length: 64 }, (_, index) =>
      failed([fresh(), shared], index % 2 === 0 ? throttle : other),
    ),
  )
  expect((await failures()).filter((count) => count === 64)).toHaveLength(1)
})

describe('a throttled guess at a secret', () => {
  test.each(['invalid_credentials', 'wrong_password', 'wrong_code'] as const)(
    'counts as a failure if it ends in %s',
    async (code) => {
      const count = fresh(1)
      const work = () => Promise.reject(new Problem(code))
      await expect(throttle.guess([count], work)).rejects.toMatchObject({ code })
      await expect(throttle.guess([count], work)).rejects.toMatchObject({
        code: 'too_many_requests',
      })
    },
  )

  test.each([
    new Problem('totp_required'),
    new Problem('account_blocked'),
    new Problem('overloaded'),
    new Error('the database is away'),
  ])('neither counts as a failure nor clears failures if it ends in "%s"', async (error) => {
    const count = fresh(2)
    await failed([count])
    await expect(throttle.guess([count], () => Promise.reject(error))).rejects.toBe(error)
    await failed([count])
    expect(await failed([count])).toBe('too_many_requests')
  })

  test('keeps the failures of the first counter after a success if the rule says so', async () => {
    const { rule, of } = fresh(2)
    const count = { rule: { ...rule, isKept: true }, of }
    await failed([count])
    expect(await throttle.guess([count], async () => 'in')).toBe('in')
    await failed([count])
    expect(await failed([count])).toBe('too_many_requests')
  })

  test('clears the failures of the first counter after a success, and keeps those of the others', async () => {
    const [account, address] = [fresh(2), fresh(2)]
    await failed([account, address])
    expect(await throttle.guess([account, address], async () => 'in')).toBe('in')
    await failed([account])
    expect(await failed([account])).toBe('invalid_credentials')
    await failed([address])
    expect(await failed([address])).toBe('too_many_requests')
  })

  test('succeeds even if the failures cannot be cleared', async () => {
    const count = fresh(2)
    await failed([count])
    const db = scopesOf(database)
    const acrossTenants: typeof db.acrossTenants = (work, mode) =>
      mode === 'read' ? db.acrossTenants(work, mode) : Promise.reject(new Error('away'))
    const warned: string[] = []
    const log = { ...silentLog, warn: (_: unknown, what?: string) => void warned.push(what ?? '') }
    const unable = openThrottle({ ...db, acrossTenants }, clock, log)
    expect(await unable.guess([count], async () => 'in')).toBe('in')
    expect(warned).toEqual(['reset of a failed sign-in counter failed'])
  })

  test('waits only for the previous guess at the same account or secret', async () => {
    const [one, another] = [fresh(), fresh()]
    const order: string[] = []
    const held = gate()
    const first = throttle.guess([one], async () => {
      await held.pass
      order.push('first')
    })
    const second = throttle.guess([one], async () => void order.push('second'))
    await throttle.guess([another], async () => void order.push('elsewhere'))
    held.open()
    await Promise.all([first, second])
    expect(order).toEqual(['elsewhere', 'first', 'second'])
  })

  test('runs even if the previous guess failed', async () => {
    const count = fresh()
    const ended = await Promise.allSettled([
      throttle.guess([count], () => Promise.reject(new Error('lost'))),
      throttle.guess([count], async () => 'in'),
    ])
    expect(ended.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  })
})

describe('the delay after failed guesses', () => {
  test('ends exactly at the announced time', async () => {
    const count = fresh(1)
    await failed([count])
    moved.ms += 4_999
    await expect(throttle.guess([count], wrong)).rejects.toMatchObject({ retryAfter: 1 })
    moved.ms += 1
    expect(await failed([count])).toBe('invalid_credentials')
  })

  test('is the longest delay of all its counters', async () => {
    const [short, long] = [fresh(1), fresh(1)]
    const longer = { ...long, rule: { ...long.rule, first: 60 } }
    await failed([short, longer])
    await expect(throttle.guess([short, longer], wrong)).rejects.toMatchObject({ retryAfter: 60 })
  })

  test('has an upper limit, even after thousands of failures', async () => {
    const count = fresh()
    await database.sql('delete from throttles')
    await failed([count])
    await database.sql('update throttles set failures = 1000000')
    await failed([count])
    await expect(throttle.guess([count], wrong)).rejects.toMatchObject({ retryAfter: 900 })
  })
})

describe('throttled events that are not guesses', () => {
  test('are all counted, and rejected with 429 during a delay', async () => {
    const count = fresh(3)
    for (let times = 0; times < 3; times += 1) await throttle.count(count)
    await expect(throttle.count(count)).rejects.toMatchObject({ code: 'too_many_requests' })
  })

  test('cannot exceed the limit within a transaction, even if they are concurrent', async () => {
    const count = fresh(3)
    const db = scopesOf(database)
    const take = () => db.acrossTenants((tx) => throttle.take(tx, count))
    const taken = await Promise.all(Array.from({ length: 16 }, take))
    expect(taken.filter(Boolean)).toHaveLength(3)
    moved.ms += 5_000
    expect([await take(), await take()]).toEqual([true, false])
  })

  test('are counted only if they end in a conflict', async () => {
    const count = fresh(2)
    const taken = () =>
      Promise.reject(
        Object.assign(new Error('taken'), { code: '23505', constraint: 'users__email' }),
      )
    const code = (work: () => Promise<unknown>) =>
      throttle.countRefusals(count, 409, work).catch((error: { code: string }) => error.code)
    expect(await code(async () => 'made')).toBe('made')
    expect(await code(() => Promise.reject(new Problem('not_found')))).toBe('not_found')
    expect(await code(taken)).toBe('23505')
    expect(await code(async () => 'made')).toBe('made')
    expect(await code(taken)).toBe('23505')
    expect(await code(async () => 'made')).toBe('too_many_requests')
  })
})

test('the throttle stores keys that reveal neither an account nor an address', async () => {
  const { rule } = fresh()
  await failed([{ rule, of: 'anna@north.test' }])
  const rows = await database.sql('select t::text as row from throttles t')
  expect(JSON.stringify(rows)).not.toContain('anna')
})

test('the purge deletes only expired counters', async () => {
  await database.sql('delete from throttles')
  const [old, recent] = [fresh(), fresh()]
  await failed([old])
  moved.ms += 40 * 60_000
  await failed([recent])
  moved.ms += 40 * 60_000
  const db = scopesOf(database)
  const now = isoAt(clock)
  expect(
    await db.acrossTenants((tx) => deleteOutdatedRows(tx, OUTDATED_THROTTLES, now, 1000)),
  ).toBe(1)
  expect(await failures()).toEqual([1])
})

test('the purge keeps a counter if a failure extends it while the purge waits for its row', async () => {
  await database.sql('delete from throttles')
  const over = fresh()
  await failed([over])
  moved.ms += 80 * 60_000
  const db = scopesOf(database, 2)
  const [extended, end] = [gate(), gate()]
  const extending = db.acrossTenants(async (tx) => {
    const later = isoAt(clock, 60_000)
    await sql`update throttles set forget_at = ${later}::timestamptz`.execute(tx.db)
    extended.open()
    await end.pass
  })
  await extended.pass
  const now = isoAt(clock)
  const purged = db.acrossTenants((tx) => deleteOutdatedRows(tx, OUTDATED_THROTTLES, now, 1000))
  await until('the purge waits for the row', async () => {
    const waiting = await database.sql(
      `select from pg_stat_activity where datname = current_database()
         and wait_event_type = 'Lock' and query like '%throttles%'`,
    )
    return waiting.length > 0 || undefined
  })
  end.open()
  await extending
  expect(await purged).toBe(0)
  expect(await failures()).toEqual([1])
})
