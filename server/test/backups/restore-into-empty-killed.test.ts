/**
 * Kills a restore into an empty database with SIGKILL. At that moment its rows are committed, and the migrations newer
 * than the backup are pending.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { LOCKS, ownerClient, type PgConnection } from '../../src/platform/db/index.ts'
import { migrate } from '../../src/platform/schema/migrate.ts'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { emptyDatabase, OF_THIS_DATABASE, type TestDatabase } from '../support/database.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, ROOT_KEY } from '../support/service.ts'
import { until } from '../support/until.ts'
import { laterMigrations } from './later-release.ts'
import { fileOf, make } from './support.ts'

/** Opens a connection that holds the migrations lock once `taken` resolves. */
async function locker({ address }: TestDatabase) {
  const client: PgConnection = ownerClient(address)
  await client.connect()
  return { client, taken: client.query('select pg_advisory_lock($1)', [LOCKS.migrations]) }
}

const waiting = (database: TestDatabase, count: number) =>
  until(`${count} to wait for the lock`, async () => {
    const rows = await database.sql(
      `select from pg_locks where locktype = 'advisory' and not granted
         and ${OF_THIS_DATABASE}`,
    )
    return rows.length === count || undefined
  })

test('a restore killed before its newer migrations keeps the rows, and the next start runs the migrations', async () => {
  const service = await openService({ background: ['backups', 'jobs'] })
  const root = await superadmin(service)
  await makeClinic(service, root, 'north')
  const file = fileOf(service, await make(service, root))
  const database = await emptyDatabase()

  const first = await locker(database)
  await first.taken
  const restore = spawn(
    process.execPath,
    [new URL('./later-release.ts', import.meta.url).pathname, file, database.url],
    { env: { ...process.env, ROOT_KEY: ROOT_KEY.toString('hex') }, stdio: 'inherit' },
  )
  const ended = once(restore, 'exit')
  onTestFinished(() => void restore.kill('SIGKILL'))
  await waiting(database, 1)
  // Waits for the migrations lock, which the restore holds until its rows are committed.
  const next = await locker(database)
  await waiting(database, 2)
  await first.client.end()
  await next.taken
  await waiting(database, 1)
  restore.kill('SIGKILL')
  expect(await ended).toEqual([null, 'SIGKILL'])

  const names = () => database.sql('select email, role from users order by id')
  const restored = await service.database.sql('select email, role from users order by id')
  expect(await names()).toEqual(restored)
  await next.client.end()
  await migrate(database.address, silentLog, await laterMigrations())
  expect(await names()).toEqual(restored)
  expect(await database.sql('select from users where later <> role or later is null')).toEqual([])
})
