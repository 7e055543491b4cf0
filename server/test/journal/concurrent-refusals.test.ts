/** Refusals of many sessions at once. Each refusal is counted, and no session waits for the row of another session. */
import pg from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { systemTime } from '../../src/lib/time.ts'
import type { Caller } from '../../src/platform/access/index.ts'
import type { Scopes } from '../../src/platform/db/index.ts'
import { openRefusals, writeVisibleRefusals } from '../../src/platform/journal/index.ts'
import { scopesOf } from '../sessions/scopes.ts'
import { atTheEnd } from '../support/cleanup.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'

const LEAST = '00000000-0000-4000-8000-000000000000'
const MIDDLE = '80000000-0000-4000-8000-000000000000'
const GREATEST = 'ffffffff-ffff-4fff-bfff-ffffffffffff'
const OPERATION = 'listUsers'
const CODE = 'role_required'

let database: TestDatabase
let db: Scopes
let now = Date.parse('2026-11-21T12:00:00.000Z')
const clock = { ...systemTime, now: () => now }

beforeAll(async () => {
  database = await migratedDatabase()
  db = scopesOf(database)
})

const callerOf = (tenant_id: number, session_id: string) =>
  ({
    tenant_id,
    session_id,
    user_id: 1,
    email: 'nurse@x.test',
    role: 'nurse',
    origin: { ip: '127.0.0.1', user_agent: null, request_id: MIDDLE },
  }) as Caller
const count = (tenant: number, session: string) =>
  openRefusals(db, clock).count(callerOf(tenant, session), OPERATION, CODE)

/** Creates one row per session, each with one refusal. */
const manySessions = (tenant: number, sessions: number) =>
  database.sql(
    `insert into refusals (tenant_id, session_id, operation, code, count, first_at, last_at,
       user_id, user_email, ip, request_id)
     select $1, overlay(gen_random_uuid()::text placing 'a' from 1)::uuid, $2, $3, 1, $4, $4,
       1, 'nurse@x.test', '127.0.0.1', gen_random_uuid()
     from generate_series(1, $5::int)`,
    [tenant, OPERATION, CODE, new Date(now).toISOString(), sessions],
  )

/** Returns how many refusals of the tenant are in the journal, and how many are pending. */
async function counted(tenant: number) {
  const sums = await database.sql<{ written: number; waiting: number }>(
    `select
       (select coalesce(sum((changes ->> 'count')::int), 0)::int from journal
        where tenant_id = $1 and action = 'access.refused') as written,
       (select coalesce(sum(count), 0)::int from refusals where tenant_id = $1) as waiting`,
    [tenant],
  )
  return sums[0]
}

test('a refused call after the minute starts another count, even while hundreds of other counts are due', async () => {
  await manySessions(1, 250)
  await count(1, GREATEST)
  now += 61_000
  await count(1, GREATEST)
  expect(await counted(1)).toEqual({ written: 1, waiting: 251 })
  await openRefusals(db, clock).writeAll()
  expect(await counted(1)).toEqual({ written: 252, waiting: 0 })
})

test('writing a due count of refused calls waits for no other session, so that no deadlock is possible', async () => {
  for (const session of [LEAST, MIDDLE, GREATEST]) await count(2, session)
  now += 61_000
  const other = new pg.Client('url' in database.address ? database.address.url : database.address)
  await other.connect()
  atTheEnd(() => other.end())
  await other.query('begin')
  await other.query('update refusals set count = count + 1 where session_id = $1', [LEAST])
  await Promise.all([count(2, MIDDLE), count(2, GREATEST)])
  // The transaction that counts the third refusal may go on to any of the other rows.
  await other.query('update refusals set count = count + 1 where session_id = $1', [GREATEST])
  await other.query('commit')
  expect(await counted(2)).toEqual({ written: 2, waiting: 5 })
})

test('all refused calls of a tenant are written to the journal before its audit log is read', async () => {
  await manySessions(3, 450)
  await manySessions(4, 1)
  await writeVisibleRefusals(db, { role: 'auditor', tenant_id: 3 })
  expect(await counted(3)).toEqual({ written: 450, waiting: 0 })
  expect(await counted(4)).toEqual({ written: 0, waiting: 1 })
})

test('all counted refusals are written, even if the query planner expects few of them', async () => {
  await database.sql('delete from refusals')
  await manySessions(5, 1)
  await database.sql('analyze refusals')
  await manySessions(5, 450)
  await writeVisibleRefusals(db, { role: 'auditor', tenant_id: 5 })
  expect(await counted(5)).toEqual({ written: 451, waiting: 0 })
})
