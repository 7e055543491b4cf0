/** A failed startup releases everything that it acquired, after a failure in any step. */
import { createServer } from 'node:net'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { start } from '../../src/commands/start.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { proxyTo } from '../support/database-proxy.ts'
import { freePort, PLAIN } from '../support/process.ts'
import { nobodyLeft } from '../support/processes.ts'
import { scratch } from '../support/scratch.ts'
import { openService } from '../support/service.ts'
import { movableClock } from '../support/time.ts'
import { until } from '../support/until.ts'

afterEach(() => void vi.unstubAllEnvs())

/** Occupies a port until the test ends. */
async function takenPort(): Promise<number> {
  const server = createServer()
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return port
}

/** Counts the resources that keep the process alive, by kind. Ignores timers, because the tests use them. */
function held(): Map<string, number> {
  const counts = new Map<string, number>()
  for (const kind of process.getActiveResourcesInfo())
    if (kind !== 'Timeout') counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return counts
}

/** Starts the service in this process. Returns the error with which the start fails. */
async function failedStart(env: NodeJS.ProcessEnv): Promise<string> {
  const all = { ...PLAIN, DATA_DIR: await scratch(), LOG_LEVEL: 'silent', ...env }
  for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value)
  const signals = process.listenerCount('SIGTERM')
  const before = held()
  const error = await start('all').then(
    () => {
      throw new Error('it has started')
    },
    (thrown: Error) => thrown,
  )
  expect(process.listenerCount('SIGTERM')).toBe(signals)
  await until('nothing is held that was not held before', () =>
    [...held()].every(([kind, count]) => count <= (before.get(kind) ?? 0)) ? true : undefined,
  )
  return error.message
}

const noConnections = (database: TestDatabase) =>
  until('no connection is left', async () => {
    const rows = await database.sql(`select 1 from pg_stat_activity
      where datname = current_database() and application_name = 'wardkeep'`)
    return rows.length === 0 || undefined
  })

describe('a failed start leaves no connection and no listener open', () => {
  test.each<[string, string, RegExp]>([
    ['the signing keys', 'alter table signing_keys rename to gone', /signing_keys/],
    [
      'the partitions of the journal',
      'drop function ensure_journal_partitions',
      /ensure_journal_partitions/,
    ],
    [
      'the partitions of webhook deliveries',
      'drop function ensure_webhook_partitions',
      /ensure_webhook_p/,
    ],
    ['the job queue', 'alter schema pgboss rename to gone', /pg-boss is not installed/],
    ['the first superadmin', 'alter table users add check (false)', /violates check constraint/],
  ])('if it fails at %s', async (_, breaks, message) => {
    const database = await migratedDatabase()
    await database.sql(breaks)
    const { url } = await proxyTo(database)
    expect(await failedStart({ DATABASE_URL: url })).toMatch(message)
    await noConnections(database)
  })

  test('if the database belongs to another root key', async () => {
    const database = await migratedDatabase()
    await (await openService({ background: ['jobs'], database })).close()
    const { url } = await proxyTo(database)
    expect(await failedStart({ DATABASE_URL: url })).toMatch(/encrypted with another root key/)
    await noConnections(database)
  })

  test('and no timer running', async () => {
    const clock = movableClock()
    const database = await migratedDatabase()
    const service = await openService({ clock, background: ['jobs'], database })
    expect(clock.repeating()).toBeGreaterThan(0)
    await service.close()
    expect(clock.repeating()).toBe(0)
    // Makes the start fail after the upkeep has started, so that the timers of the upkeep are running.
    await database.sql('alter schema pgboss rename to gone')
    const failing = openService({ clock, background: ['jobs'], database })
    await expect(failing).rejects.toThrow(/pg-boss is not installed/)
    expect(clock.repeating()).toBe(0)
  })

  test.each(['PORT', 'METRICS_PORT'])('if the %s is already in use', async (variable) => {
    const database = await migratedDatabase()
    const port = await takenPort()
    const { url } = await proxyTo(database)
    expect(await failedStart({ DATABASE_URL: url, [variable]: String(port) })).toMatch(
      new RegExp(`^${variable}: port ${port} is already in use`),
    )
    await noConnections(database)
  })

  test('and no embedded server running', async () => {
    const dataDir = await scratch()
    const port = await takenPort()
    const message = await failedStart({ DATA_DIR: dataDir, PORT: String(port) })
    expect(message).toMatch(/is already in use/)
    await nobodyLeft(dataDir)
  })
})
