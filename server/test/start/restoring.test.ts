/** What is started while a restore of everything has closed the service: it waits, or says so in a line. */
import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { EVERY_TENANT, LOCKS, ownerClient } from '../../src/platform/db/index.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { proxyTo } from '../support/database-proxy.ts'
import { command, finished, PLAIN } from '../support/process.ts'
import { scratch } from '../support/scratch.ts'
import { until } from '../support/until.ts'

// Processes on a busy machine take their time to start.
vi.setConfig({ testTimeout: 150_000 })

const WAITING = 'a restore is under way; waiting for its end'

let database: TestDatabase
let env: NodeJS.ProcessEnv
let open: () => Promise<unknown>

beforeEach(async () => {
  database = await migratedDatabase()
  env = { ...PLAIN, DATABASE_URL: (await proxyTo(database)).url, DATA_DIR: await scratch() }
  open = await closeFor(EVERY_TENANT)
})

/** Closes the service as a restore does. Returns how to open it. */
async function closeFor(tenantId: number) {
  const client = ownerClient(database.address)
  await client.connect()
  onTestFinished(() => client.end())
  const lock = [LOCKS.closed, tenantId]
  await client.query('select pg_advisory_lock($1, $2)', lock)
  return () => client.query('select pg_advisory_unlock($1, $2)', lock)
}

/** A start that has said that it waits. */
async function waiting(...options: string[]) {
  const run = command(['start', ...options], env)
  await until('it waits', () => run.stdout().includes(WAITING) || undefined, 60_000)
  return run
}

test.each([
  ['all', 'Wardkeep is ready at'],
  ['worker', 'doing background work'],
])('a start of the role %s waits for the end of the restore, and comes up', async (role, up) => {
  const run = await waiting('--role', role)
  // Long enough to look again a few times.
  const stays = await Promise.race([run.ended, delay(1_500, 'waits')])
  expect(stays).toBe('waits')
  expect(run.stdout()).not.toContain(up)
  expect(run.stdout().split(WAITING)).toHaveLength(2)
  await open()
  await until('it is up', () => run.stdout().includes(up) || undefined, 60_000)
  run.signal('SIGTERM')
  expect(await run.ended).toEqual({ code: 0, signal: null })
  expect(run.stderr()).toBe('')
})

test.each(['SIGTERM', 'SIGINT'] as const)('a start that waits is ended by %s', async (signal) => {
  const run = await waiting()
  run.signal(signal)
  expect(await run.ended).toEqual({ code: 0, signal: null })
  expect(run.stderr()).toBe('')
})

test('a command says it in one line, and to try again', async () => {
  expect(await finished(['rotate-signing-key'], env)).toEqual({
    code: 1,
    signal: null,
    stdout: '',
    stderr: 'A restore is under way, and nothing else may write; try again when it is over.\n',
  })
  await open()
  expect(await finished(['rotate-signing-key'], env)).toMatchObject({ code: 0 })
})

test('a restore of one clinic keeps no start waiting', async () => {
  await open()
  await closeFor(1)
  const run = command(['start'], env)
  await until('it is up', () => run.stdout().includes('Wardkeep is ready at') || undefined, 60_000)
  expect(run.stdout()).not.toContain(WAITING)
})
