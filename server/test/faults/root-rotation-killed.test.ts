/**
 * Kills a rotation of the root key. The service then starts with the old or the new key, without help from an operator.
 */
import { readdir } from 'node:fs/promises'
import pg from 'pg'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { fingerprintOf, ownKeys } from '../../src/platform/crypto/index.ts'
import { LOCKS } from '../../src/platform/db/lock-numbers.ts'
import { superadmin } from '../support/clinics.ts'
import { migratedDatabase, OF_THIS_DATABASE, type TestDatabase } from '../support/database.ts'
import { type Command, command, finished } from '../support/process.ts'
import { scratch } from '../support/scratch.ts'
import { silentLog } from '../support/server-address.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'

let database: TestDatabase
let dataDir: string

/** Starts the service with the keys in the data folder. Returns the fingerprint of the key it used. */
async function serve(): Promise<string> {
  const service = await openService({
    background: ['encryption'],
    database,
    config: { DATA_DIR: dataDir },
    rootKeys: ownKeys(dataDir, silentLog),
  })
  const root = await superadmin(service)
  expect((await service.call('GET', '/api/users/me', { token: root.token })).status).toBe(200)
  await service.close()
  const [row] = await database.sql<{ fingerprint: string }>(
    'select fingerprint from root_keys where retired_at is null',
  )
  return row?.fingerprint ?? ''
}

beforeEach(async () => {
  database = await migratedDatabase()
  dataDir = await scratch()
})

const rotation = () =>
  command(['keys', 'rotate-root'], { DATABASE_URL: database.url, DATA_DIR: dataDir })

async function connection(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

const waits = (what: string) =>
  until(`the rotation waits for ${what}`, async () => {
    const [row] = await database.sql(
      `select from pg_stat_activity where datname = current_database()
         and application_name = 'wardkeep' and wait_event_type = 'Lock'`,
    )
    return row && true
  })

async function kill(run: Command): Promise<void> {
  run.signal('SIGKILL')
  expect(await run.ended).toMatchObject({ signal: 'SIGKILL' })
}

const keyFiles = async () =>
  (await readdir(dataDir)).filter((name) => name.startsWith('root.key')).sort()

test('a root key rotation that is killed within its transaction keeps the former key, at the first and the last table', async () => {
  const old = await serve()
  const holder = await connection()
  for (const table of ['key_encryption_keys', 'root_keys']) {
    await holder.query(`begin; lock table ${table} in exclusive mode`)
    const run = rotation()
    await waits(table)
    await kill(run)
    await holder.query('rollback')
    expect(await serve()).toBe(old)
    expect(await keyFiles()).toEqual(['root.key', 'root.key.next'])
  }
  // Repeats the rotation with the key that the data folder contains, and completes it.
  const next = await ownKeys(dataDir, silentLog).keepNext()
  const env = { DATABASE_URL: database.url, DATA_DIR: dataDir }
  const ended = await finished(['keys', 'rotate-root'], env)
  expect(ended, ended.stderr).toMatchObject({ code: 0 })
  expect(await serve()).toBe(fingerprintOf(next.key))
  expect(await keyFiles()).toEqual(['root.key', `root.key.${old}`])
})

test('a root key rotation that was killed after its commit finds the stored new key, and makes that key current', async () => {
  const old = await serve()
  const [holder, next] = [await connection(), await connection()]
  await holder.query('begin; lock table root_keys in exclusive mode')
  const run = rotation()
  await waits('root_keys')
  // Queues for the lock behind the rotation, so that this statement gets the lock before the rotation's next step.
  const inTurn = next.query('select pg_advisory_lock($1)', [LOCKS.rootKey])
  await until('the next in turn waits', async () => {
    const [row] = await database.sql(
      `select from pg_locks where locktype = 'advisory' and not granted and objid = $1
         and ${OF_THIS_DATABASE}`,
      [LOCKS.rootKey],
    )
    return row && true
  })
  await holder.query('rollback')
  await inTurn
  await until(
    'the rotation has committed',
    () => /requires root key/.test(run.stderr()) || undefined,
  )
  await kill(run)
  expect(await keyFiles()).toEqual(['root.key', 'root.key.next'])
  await next.query('select pg_advisory_unlock($1)', [LOCKS.rootKey])
  const current = await serve()
  expect(current).not.toBe(old)
  expect(await keyFiles()).toEqual(['root.key', `root.key.${old}`])
  expect(fingerprintOf((await ownKeys(dataDir, silentLog).given())[0]?.key as Buffer)).toBe(current)
})
