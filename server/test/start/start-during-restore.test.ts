/** A service that starts while a full restore is in maintenance mode waits, or fails with a one-line message. */
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

const WAITING = 'startup waits for a running restore'

let database: TestDatabase
let env: NodeJS.ProcessEnv
let leaveMaintenance: () => Promise<unknown>

beforeEach(async () => {
  database = await migratedDatabase()
  env = { ...PLAIN, DATABASE_URL: (await proxyTo(database)).url, DATA_DIR: await scratch() }
  leaveMaintenance = await enterMaintenance(EVERY_TENANT)
})

/** Enters maintenance mode like a restore. Returns a function that leaves it. */
async function enterMaintenance(tenantId: number) {
  const client = ownerClient(database.address)
  await client.connect()
  onTestFinished(() => client.end())
  const lock = [LOCKS.maintenance, tenantId]
  await client.query('select pg_advisory_lock($1, $2)', lock)
  return () => client.query('select pg_advisory_unlock($1, $2)', lock)
}

/** Runs `start` until it reports that it is waiting. */
async function waiting(...options: string[]) {
  const run = command(['start', ...options], env)
  await until('it waits', () => run.stdout().includes(WAITING) || undefined, 60_000)
  return run
}

test.each([
  ['all', 'Wardkeep is ready at'],
  ['worker', 'background work started'],
])('a start of the role %s waits for a running restore', async (role, up) => {
  const run = await waiting('--role', role)
  // Waits long enough for several polls.
  const stays = await Promise.race([run.ended, delay(1_500, 'waits')])
  expect(stays).toBe('waits')
  expect(run.stdout()).not.toContain(up)
  expect(run.stdout().split(WAITING)).toHaveLength(2)
  await leaveMaintenance()
  await until('it is up', () => run.stdout().includes(up) || undefined, 60_000)
  run.signal('SIGTERM')
  expect(await run.ended).toEqual({ code: 0, signal: null })
  expect(run.stderr()).toBe('')
})

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s ends a start that waits for a restore',
  async (signal) => {
    const run = await waiting()
    run.signal(signal)
    expect(await run.ended).toEqual({ code: 0, signal: null })
    expect(run.stderr()).toBe('')
  },
)

test('a command reports a running restore in one line, with the advice to retry', async () => {
  expect(await finished(['rotate-signing-key'], env)).toEqual({
    code: 1,
    signal: null,
    stdout: '',
    stderr: 'A restore is running, so no other command may write. Try again when it has ended.\n',
  })
  await leaveMaintenance()
  expect(await finished(['rotate-signing-key'], env)).toMatchObject({ code: 0 })
})

test('the restore of one clinic does not delay a start', async () => {
  await leaveMaintenance()
  await enterMaintenance(1)
  const run = command(['start'], env)
  await until('it is up', () => run.stdout().includes('Wardkeep is ready at') || undefined, 60_000)
  expect(run.stdout()).not.toContain(WAITING)
})
