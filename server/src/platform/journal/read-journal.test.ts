/**
 * Tests the journal of reads. An entry is durable before the record is shown, each read has one entry, and reads share
 * commits.
 */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { scopesOf } from '../../../test/sessions/scopes.ts'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { proxyTo } from '../../../test/support/database-proxy.ts'
import type { Caller } from '../access/index.ts'
import { problemOf, type Scopes } from '../db/index.ts'
import { openReadJournal, type ReadEntry, type ReadJournal } from './index.ts'

let database: TestDatabase
let db: Scopes
let reads: ReadJournal
/** A new tenant for each test. */
let tenant_id = 100

beforeAll(async () => {
  database = await migratedDatabase()
  db = scopesOf(database)
  reads = openReadJournal(db)
})

beforeEach(() => {
  tenant_id += 1
})

const caller = (user_agent: string | null = 'ward'): Caller => ({
  user_id: 7,
  tenant_id,
  email: 'nurse@north.test',
  role: 'nurse',
  unit_id: null,
  sees_all: false,
  session_id: 'd3b07384-0000-4000-8000-000000000001',
  restriction: null,
  origin: { ip: '10.0.0.1', user_agent, request_id: '0192c0de-0000-4000-8000-000000000001' },
})
const read = (entry: Partial<ReadEntry> = {}): ReadEntry => ({
  caller: caller(),
  action: 'patient.read',
  tenant_id,
  resource_type: 'patient',
  resource_ids: [5],
  ...entry,
})
const entries = () =>
  database.sql(
    `select action, resource_type, resource_id, changes, user_id, user_email, ip, user_agent,
       request_id, is_access from journal where tenant_id = $1 order by id`,
    [tenant_id],
  )
const shown = () =>
  database.sql(
    `select s.resource_id from journal_resources s
     join journal j on j.id = s.entry_id and j.created_at = s.created_at
     where s.tenant_id = $1 and j.tenant_id = $1 order by 1`,
    [tenant_id],
  )
const transactions = async () =>
  (await database.sql('select distinct xid from journal where tenant_id = $1', [tenant_id])).length

describe('the journal entry for reading patients', () => {
  test('contains the ID, the reader, the source and the grant if one patient is read', async () => {
    await reads.record(read({ grant_id: 3, changes: { format: 'json' } }))
    expect(await entries()).toEqual([
      {
        action: 'patient.read',
        resource_type: 'patient',
        resource_id: '5',
        changes: { format: 'json', grant_id: 3 },
        user_id: 7,
        user_email: 'nurse@north.test',
        ip: '10.0.0.1',
        user_agent: 'ward',
        request_id: '0192c0de-0000-4000-8000-000000000001',
        is_access: true,
      },
    ])
    expect(await shown()).toEqual([])
  })

  test('contains the IDs of several patients, and is found for each of them', async () => {
    await reads.record(read({ action: 'patient.listed', resource_ids: [9, 4, 9] }))
    expect(await entries()).toMatchObject([
      { action: 'patient.listed', resource_id: null, changes: { resource_ids: [9, 4, 9] } },
    ])
    expect(await shown()).toEqual([{ resource_id: 4 }, { resource_id: 9 }])
  })

  test('is written even for a search without results', async () => {
    await reads.record(read({ action: 'patient.searched', resource_ids: [] }))
    expect(await entries()).toMatchObject([{ resource_id: null, changes: { resource_ids: [] } }])
  })

  test('is written for each of sixteen equal concurrent reads', async () => {
    const same = read()
    await Promise.all(Array.from({ length: 16 }, () => reads.record(same)))
    expect(await entries()).toHaveLength(16)
  })
})

describe('a commit of journal entries for reads', () => {
  test('is shared: a hundred reads, 32 at a time, need at most 25 commits', async () => {
    const left = Array.from({ length: 100 }, (_, patient) => read({ resource_ids: [patient + 1] }))
    const reader = async () => {
      for (let next = left.pop(); next; next = left.pop()) await reads.record(next)
    }
    await Promise.all(Array.from({ length: 32 }, reader))
    expect(await entries()).toHaveLength(100)
    expect(await transactions()).toBeLessThanOrEqual(25)
  })

  test('contains entries of several tenants', async () => {
    const other = tenant_id + 1_000
    await Promise.all([reads.record(read()), reads.record(read({ tenant_id: other }))])
    const xids = await database.sql('select distinct xid from journal where tenant_id = any($1)', [
      [tenant_id, other],
    ])
    expect(xids).toHaveLength(1)
  })

  test('succeeds without an entry that the database rejects', async () => {
    const outcomes = await Promise.allSettled([
      reads.record(read({ resource_ids: [1] })),
      reads.record(read({ resource_ids: [2], caller: caller('a \0 byte') })),
      reads.record(read({ resource_ids: [3] })),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await entries()).toMatchObject([{ resource_id: '1' }, { resource_id: '3' }])
  })

  test('happens before the response to the read', async () => {
    const proxy = await proxyTo(database)
    const far = openReadJournal(scopesOf({ ...database, address: { url: proxy.url } }))
    proxy.loseCommitAnswerOf('unanswered')
    await expect(far.record(read({ changes: { note: 'unanswered' } }))).rejects.toThrow()
    // The commit has succeeded. An entry without a read is acceptable, but a read without an entry is not.
    expect(await entries()).toHaveLength(1)
    await far.record(read())
    expect(await entries()).toHaveLength(2)
  })
})

describe('a failing database', () => {
  const farJournal = async () => {
    const proxy = await proxyTo(database)
    return { proxy, far: openReadJournal(scopesOf({ ...database, address: { url: proxy.url } })) }
  }

  test('makes all waiting reads fail with 503 while it is down, and later reads succeed', async () => {
    const { proxy, far } = await farJournal()
    await far.record(read())
    await proxy.refuse()
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => far.record(read())))
    expect(outcomes.map((outcome) => outcome.status)).toEqual(Array(3).fill('rejected'))
    for (const outcome of outcomes as PromiseRejectedResult[])
      expect(problemOf(outcome.reason)).toMatchObject({ code: 'database_away', status: 503 })
    await proxy.open()
    await far.record(read())
    expect(await entries()).toHaveLength(2)
  })

  test('makes reads fail with 503 if 5,000 others already wait for it', async () => {
    const { proxy, far } = await farJournal()
    await far.record(read())
    proxy.stall()
    const waiting = Array.from({ length: 5_000 }, () => far.record(read()))
    await expect(far.record(read())).rejects.toMatchObject({ code: 'busy', status: 503 })
    await proxy.open()
    await Promise.all(waiting)
    expect(await entries()).toHaveLength(5_001)
  })
})

test('shutdown writes the waiting journal entries', async () => {
  const stopping = openReadJournal(db)
  const written = Promise.all([stopping.record(read()), stopping.record(read())])
  await stopping.stop()
  await written
  expect(await entries()).toHaveLength(2)
})
