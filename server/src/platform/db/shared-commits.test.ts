/** Tests statements that share a commit. Each has its own visibility, errors and lock waits. */
import { setTimeout as delay } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { unheard } from '../../../test/sessions/scopes.ts'
import { atTheEnd } from '../../../test/support/cleanup.ts'
import { endingPool, migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { systemTime } from '../../lib/time.ts'
import { openPool } from './connection.ts'
import { problemOf } from './failures.ts'
import { openScopes, type Scopes } from './scope.ts'
import { statement } from './statements.ts'

let database: TestDatabase
let db: Scopes
const [NORTH, SOUTH, CLOSED] = [101, 102, 103]
const announced: string[] = []

beforeAll(async () => {
  database = await migratedDatabase()
  await database.sql(`insert into tenants (id, name, subdomain) values (${NORTH}, 'North', 'north'),
    (${SOUTH}, 'South', 'south'), (${CLOSED}, 'Closed', 'closed')`)
  db = openScopes(database.address, {
    clock: systemTime,
    size: 4,
    log: silentLog,
    changes: {
      ...unheard,
      notify: (topic) => void announced.push(topic),
      isInMaintenance: (tenantId) => tenantId === CLOSED,
    },
  })
  atTheEnd(() => db.close())
})

beforeEach(async () => {
  announced.length = 0
  await database.sql(`delete from departments`)
  await database.sql(`insert into departments (id, tenant_id, name) overriding system value
    values (1, ${NORTH}, 'one'), (2, ${NORTH}, 'two'), (3, ${SOUTH}, 'three')`)
})

/** Sends a statement in a tenant. Concurrent statements share a commit. */
const send = <R>(tenantId: number, query: RawBuilder<unknown>) =>
  db.sendInTenant<R>(tenantId, statement(() => query)({}), 'journal')
const seen = sql`select array_agg(id::int order by id) as ids, pg_current_xact_id()::text as commit from departments`
const namesOf = async () =>
  (await database.sql('select name from departments order by id')).map(({ name }) => name)
const rename = (id: number, name: string) =>
  sql`update departments set name = ${name} where id = ${id} returning id`

test('a shared transaction limits each statement to its own tenant', async () => {
  const tenants = [NORTH, SOUTH, NORTH, 999, SOUTH]
  const rows = await Promise.all(
    tenants.map((tenant) => send<{ ids: number[] | null; commit: string }>(tenant, seen)),
  )
  expect(rows.map(([row]) => row?.ids)).toEqual([[1, 2], [3], [1, 2], null, [3]])
  expect(new Set(rows.map(([row]) => row?.commit)).size).toBe(1)
  // Afterwards, the connection sees no tenant's rows.
  const left = sql<{
    left: string | null
  }>`select current_setting('wardkeep.tenant_id', true) as left`
  const { rows: none } = await db.acrossTenants((tx) => left.execute(tx.db))
  expect(none[0]?.left ?? '').toBe('')
})

test('a shared transaction prevents changing or creating rows of another tenant', async () => {
  expect(
    await Promise.all([
      send(NORTH, rename(2, 'new')),
      send(SOUTH, rename(1, 'stolen')),
      send(NORTH, rename(3, 'stolen')),
    ]),
  ).toEqual([[{ id: 2 }], [], []])
  const [planted] = await Promise.allSettled([
    send(SOUTH, sql`insert into departments (tenant_id, name) values (${NORTH}, 'planted')`),
    send(NORTH, rename(2, 'newer')),
  ])
  expect(planted).toMatchObject({ status: 'rejected', reason: { code: '42501' } })
  expect(await namesOf()).toEqual(['one', 'newer', 'three'])
})

test('a statement resolves after the commit, and then the workers are notified', async () => {
  await Promise.all([send(NORTH, rename(1, 'uno')), send(SOUTH, rename(3, 'tres'))])
  expect(await namesOf()).toEqual(['uno', 'two', 'tres'])
  // The shared transaction notifies once per topic.
  expect(announced).toEqual(['journal'])
  announced.length = 0
  await send(NORTH, rename(99, 'nobody'))
  expect(announced).toEqual([])
})

test('a shared transaction fails only the faulty statement, and runs the others once', async () => {
  const more = (id: number) =>
    sql`update departments set name = name || '+' where id = ${id} returning name`
  const outcomes = await Promise.allSettled([
    send(NORTH, more(1)),
    send(NORTH, sql`select 1 / (id - id) from departments`),
    send(SOUTH, more(3)),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(outcomes[1]).toMatchObject({ reason: { code: '22012' } })
  expect(await namesOf()).toEqual(['one+', 'two', 'three+'])
})

// Without a short lock timeout, the other statements would wait for 10 s.
test('a shared transaction does not delay other statements if one waits for a lock', async () => {
  const holder = await endingPool(openPool(database.address, 1)).connect()
  atTheEnd(() => holder.release())
  await holder.query(`begin; set local wardkeep.tenant_id = '${NORTH}'`)
  await holder.query(`update departments set name = 'held' where id = 1`)
  const waiting = send(NORTH, rename(1, 'later'))
  const others = [send(NORTH, rename(2, 'zwei')), send(SOUTH, rename(3, 'drei'))]
  await Promise.all(others)
  // Statements sent during the wait are not delayed either.
  await Promise.all([send(NORTH, rename(2, 'deux')), send(SOUTH, rename(3, 'trois'))])
  expect(await namesOf()).toEqual(['one', 'deux', 'trois'])
  await holder.query('commit')
  expect(await waiting).toEqual([{ id: 1 }])
  expect(await namesOf()).toEqual(['later', 'deux', 'trois'])
})

test('a shared transaction fails only the statement that cannot be sent', async () => {
  const [unsent, sent] = await Promise.allSettled([
    send(NORTH + 0.5, rename(1, 'unsent')),
    send(NORTH, rename(2, 'sent')),
  ])
  expect(unsent).toMatchObject({
    status: 'rejected',
    reason: { message: 'a tenant id must be an integer' },
  })
  expect(sent).toEqual({ status: 'fulfilled', value: [{ id: 2 }] })
})

test('a shared transaction refuses only the statement of a tenant in maintenance mode', async () => {
  const outcomes = await Promise.allSettled([
    send(CLOSED, rename(1, 'closed')),
    send(NORTH, rename(2, 'open')),
  ])
  expect(outcomes).toMatchObject([
    { status: 'rejected', reason: { code: 'restoring' } },
    { status: 'fulfilled', value: [{ id: 2 }] },
  ])
})

test('a shared transaction fails all statements without a retry if the connection is lost halfway', async () => {
  const asking = Promise.allSettled([
    send(NORTH, rename(1, 'lost')),
    send(NORTH, sql`select pg_sleep(20)`),
    send(SOUTH, rename(3, 'lost')),
  ])
  const ended = () =>
    database.sql(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query like 'select pg_sleep%' and state = 'active'`)
  while ((await ended()).length === 0) await delay(5)
  const outcomes = await asking
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  for (const outcome of outcomes)
    expect(problemOf((outcome as PromiseRejectedResult).reason)?.code).toBe('database_away')
  expect(await namesOf()).toEqual(['one', 'two', 'three'])
  expect(await send(SOUTH, rename(3, 'again'))).toEqual([{ id: 3 }])
})

test('each of hundreds of concurrent statements gets its own rows', async () => {
  const numbers = Array.from({ length: 300 }, (_, at) => at)
  const answers = await Promise.all(
    numbers.map((at) =>
      send<{ at: number; ids: number[] }>(
        at % 2 ? NORTH : SOUTH,
        sql`select ${at}::int as at, array_agg(id::int order by id) as ids from departments`,
      ),
    ),
  )
  expect(answers.map(([row]) => row)).toEqual(
    numbers.map((at) => ({ at, ids: at % 2 ? [1, 2] : [3] })),
  )
})
