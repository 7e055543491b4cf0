/** New partitions are created even during long reads. Startup waits only for the partitions that it needs. */
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { ownerClient } from '../../src/platform/db/index.ts'
import { migratedDatabase, OF_THIS_DATABASE, type TestDatabase } from '../support/database.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'

const TABLES = ['journal', 'journal_resources', 'webhook_attempts', 'webhook_deliveries']

let database: TestDatabase

beforeEach(async () => {
  database = await migratedDatabase()
  // Starts the service once, because the template may have been migrated on the previous day.
  await (await open()).close()
})

const open = () => openService({ database })

/** Returns the partitions of a table, the last first. */
const partsOf = async (table: string) =>
  (
    await database.sql<{ part: string }>(
      `select inhrelid::regclass::text as part from pg_inherits
       where inhparent = $1::regclass order by 1 desc`,
      [table],
    )
  ).map(({ part }) => part)

/** Locks the tables until the end of the test. */
async function hold(mode: string): Promise<void> {
  const client = ownerClient(database.address)
  await client.connect()
  onTestFinished(() => client.end())
  await client.query(`begin; lock table ${TABLES.join()} in ${mode} mode`)
}

/** Ends the wait for the lock on the journal, as its time limit would. */
async function endWait(): Promise<void> {
  await until('somebody waits for the journal', async () => {
    const ended = await database.sql(
      `select pg_cancel_backend(pid) from pg_locks where relation = 'journal'::regclass and not granted
         and mode = 'ShareUpdateExclusiveLock' and ${OF_THIS_DATABASE}`,
    )
    return ended.length > 0 || undefined
  })
}

test('startup creates partitions while a database dump reads their tables', async () => {
  const parts = await Promise.all(TABLES.map(partsOf))
  for (const [last] of parts) await database.sql(`drop table ${last}`)
  await hold('access share')
  await open()
  expect(await Promise.all(TABLES.map(partsOf))).toEqual(parts)
})

test('startup continues without partitions that are needed only later, and logs them as missing', async () => {
  const [last] = await partsOf('journal')
  await database.sql(`drop table ${last}`)
  await hold('share update exclusive')
  const opening = open()
  await endWait()
  const { logged } = await opening
  expect(logged.map(([, , message]) => message)).toContain(
    'creation of future journal partitions failed',
  )
})

test('startup fails if the partition of the next month cannot be created', async () => {
  const [, next] = await partsOf('journal')
  await database.sql(`drop table ${next}`)
  await hold('share update exclusive')
  const refused = expect(open()).rejects.toThrow('canceling statement')
  await endWait()
  await refused
})
