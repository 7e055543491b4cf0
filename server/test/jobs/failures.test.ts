/** Failures of jobs: when handlers, processes or the database fail, no job is lost. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import pg from 'pg'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { MINUTE, SECOND } from '../../src/lib/clock.ts'
import { jobKind } from '../../src/platform/jobs/index.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { openNode, openOutages, rowsOf } from '../support/jobs.ts'
import { until } from '../support/until.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await migratedDatabase()
})

const isTrue = (holds: boolean) => (holds ? true : undefined)
/** Makes the retry due now. */
const makeDue = (name: string) =>
  database.sql(`update pgboss.job set start_after = now() where name = $1`, [name])

it('a failing job is retried with growing delays, then marked as failed, and its name is logged', async () => {
  const kind = jobKind<{ n: number }>('failing', { retries: 3, retryDelaySeconds: 100 })
  const node = openNode(database)
  const attempts: number[] = []
  node.jobs.work(
    kind,
    async (_, { attempt }) => {
      attempts.push(attempt)
      throw Object.assign(new Error('cannot reach anna@clinic.test'), { code: 'EFAR' })
    },
    { pollSeconds: 0.05 },
  )
  await node.jobs.start()
  await node.db.acrossTenants((tx) => node.jobs.send(tx, kind, { n: 1 }))
  for (const [tried, least, most] of [
    [1, 100, 200],
    [2, 200, 400],
    [3, 400, 800],
  ] as const) {
    const row = await until(`attempt ${tried} is noted`, async () => {
      const [found] = await rowsOf(database, 'failing')
      return found?.state === 'retry' && attempts.length === tried && found.waits > 0
        ? found
        : undefined
    })
    expect(row.waits).toBeGreaterThan(least - 20)
    expect(row.waits).toBeLessThanOrEqual(most)
    await makeDue('failing')
  }
  const row = await until('the job is given up', async () => {
    const [found] = await rowsOf(database, 'failing')
    return found?.state === 'failed' ? found : undefined
  })
  expect(attempts).toEqual([1, 2, 3, 4])
  // The table stores only the kind of error, because error messages may quote data.
  expect(row.output).toEqual({ name: 'Error', code: 'EFAR' })
  const errors = node.logged.filter(([level]) => level === 'error')
  expect(errors).toHaveLength(1)
  expect(errors[0]?.[1]).toMatchObject({ job: 'failing', id: row.id, attempt: 4 })
  expect(errors[0]?.[2]).toContain('job failing failed for good')
})

it('the retry delays of two jobs differ, so that their retries do not coincide', async () => {
  const kind = jobKind<{ n: number }>('scattered', { retryDelaySeconds: 1000 })
  const node = openNode(database)
  const fail = async () => {
    throw new Error('no')
  }
  node.jobs.work(kind, fail, { concurrency: 10 })
  await node.jobs.start()
  await node.db.acrossTenants(async (tx) => {
    for (let n = 0; n < 10; n += 1) await node.jobs.send(tx, kind, { n })
  })
  const rows = await until('all have failed once', async () => {
    const found = await rowsOf(database, 'scattered')
    return found.length === 10 && found.every(({ state }) => state === 'retry') ? found : undefined
  })
  expect(new Set(rows.map(({ waits }) => Math.round(waits))).size).toBeGreaterThan(3)
})

it('a job of a killed process runs again on another node', async () => {
  const kind = jobKind<{ n: number }>('killed', { expireInSeconds: 1, retryDelaySeconds: 1 })
  const node = openNode(database)
  const attempts: number[] = []
  node.jobs.work(kind, async (_, { attempt }) => void attempts.push(attempt), { pollSeconds: 0.1 })
  const api = openNode(database, { works: false })
  api.jobs.work(kind, async () => undefined)
  await api.jobs.start()
  await api.db.acrossTenants((tx) => api.jobs.send(tx, kind, { n: 1 }))

  const child = spawn(
    process.execPath,
    [
      join(import.meta.dirname, '../support/jobs-child.ts'),
      JSON.stringify(database.address),
      'killed',
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  const [said] = await once(child.stdout, 'data')
  expect(String(said)).toMatch(/^began /)
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended

  await node.jobs.start()
  await until('another process has done it', () => isTrue(attempts.length > 0))
  expect(attempts).toEqual([2])
})

it('an attempt that runs longer than its lease is aborted and counts as failed', async () => {
  const kind = jobKind<{ n: number }>('endless', { expireInSeconds: 60, retries: 0 })
  const node = openNode(database)
  const reasons: unknown[] = []
  let isRunning = false
  node.jobs.work(kind, (_, { signal }) => {
    isRunning = true
    signal.addEventListener('abort', () => reasons.push(signal.reason))
    return new Promise(() => undefined)
  })
  await node.jobs.start()
  await node.db.acrossTenants((tx) => node.jobs.send(tx, kind, { n: 1 }))
  await until('it runs', () => isTrue(isRunning))
  node.clock.elapse(MINUTE)
  await until('it has failed', async () =>
    isTrue((await rowsOf(database, 'endless'))[0]?.state === 'failed' && reasons.length > 0),
  )
  expect(String(reasons[0])).toContain('not completed within 60 s')
})

it('shutdown waits for running jobs', async () => {
  const kind = jobKind<{ n: number }>('finishing')
  const node = openNode(database)
  let finish: (() => void) | undefined
  node.jobs.work(kind, (_, { signal }) => {
    return new Promise((resolve) => {
      finish = resolve
      signal.addEventListener('abort', () => setImmediate(resolve))
    })
  })
  await node.jobs.start()
  await node.db.acrossTenants((tx) => node.jobs.send(tx, kind, { n: 1 }))
  await until('it runs', () => finish)
  await node.stop()
  expect(await rowsOf(database, 'finishing')).toEqual([])
})

it.each([
  ['that stops on the abort signal', true],
  ['that ignores the abort signal', false],
])(
  'shutdown returns a job %s to the queue, due immediately and without counting an attempt',
  async (_, listens) => {
    const name = `given-back-${listens}`
    const kind = jobKind<{ n: number }>(name, { retries: 0, retryDelaySeconds: 1000 })
    const [first, second] = [openNode(database), openNode(database)]
    let began = false
    first.jobs.work(kind, (_, { signal }) => {
      began = true
      return new Promise((_, reject) => {
        if (listens) signal.addEventListener('abort', () => reject(signal.reason))
      })
    })
    const attempts: number[] = []
    second.jobs.work(kind, async (_, { attempt }) => void attempts.push(attempt))
    await first.jobs.start()
    await first.db.acrossTenants((tx) => first.jobs.send(tx, kind, { n: 1 }))
    await until('it runs', () => isTrue(began))
    const stopped = first.stop()
    // Shutdown waits up to 6 s for running jobs.
    if (!listens) first.clock.elapse(6 * SECOND)
    await stopped
    expect((await rowsOf(database, name))[0]?.state).toBe('retry')
    await second.jobs.start()
    await until('the other node has done it', () => isTrue(attempts.length > 0))
    expect(attempts).toEqual([2])
    expect(first.logged.filter(([level]) => level === 'error')).toEqual([])
  },
)

it('job workers survive a database outage: none stops, no job runs twice, and one outage is logged', async () => {
  const kind = jobKind<{ n: number }>('outage', { expireInSeconds: 60 })
  const outages = await openOutages(database)
  const node = openNode(database, { address: outages.address })
  const api = openNode(database, { works: false })
  const runs: number[] = []
  let release: () => void = () => undefined
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  const handler = async ({ n }: { n: number }) => {
    runs.push(n)
    await gate
  }
  node.jobs.work(kind, handler, { concurrency: 2, pollSeconds: 0.05 })
  api.jobs.work(kind, handler)
  await node.jobs.start()
  await api.jobs.start()
  const send = (n: number) => api.db.acrossTenants((tx) => api.jobs.send(tx, kind, { n }))
  await send(1)
  await until('the first runs', () => isTrue(runs.length === 1))

  await outages.down()
  release()
  await send(2)
  const lines = (text: string) => node.logged.filter(([, , message]) => message.includes(text))
  await until('the outage is noticed', () => isTrue(lines('database not reachable').length > 0))
  await outages.up()
  await until('everything is done', async () =>
    isTrue((await rowsOf(database, 'outage')).length === 0),
  )
  await until('its end is noticed', () => isTrue(lines('database reachable again').length > 0))
  expect(runs).toEqual([1, 2])
  expect(lines('database not reachable')).toHaveLength(1)
  expect(lines('database reachable again')).toHaveLength(1)
  expect(node.logged).toHaveLength(2)
})

const outOfMemory = () =>
  Object.assign(new pg.DatabaseError('out of memory', 1, 'error'), { code: '53200' })

it('a job is retried once without counting if a reachable database fails, and then attempts are counted', async () => {
  const kind = jobKind<{ n: number }>('hungry', { retries: 0 })
  const node = openNode(database)
  const attempts: number[] = []
  const handler = async (_: object, { attempt }: { attempt: number }) => {
    attempts.push(attempt)
    throw outOfMemory()
  }
  node.jobs.work(kind, handler, { pollSeconds: 0.05 })
  await node.jobs.start()
  await node.db.acrossTenants((tx) => node.jobs.send(tx, kind, { n: 1 }))
  await until('the job is given up', async () =>
    isTrue((await rowsOf(database, 'hungry'))[0]?.state === 'failed'),
  )
  expect(attempts).toEqual([1, 2])
  const fields = { job: 'hungry', reason: 'out of memory' }
  expect(node.logged).toMatchObject([
    ['info', fields, 'job hungry postponed'],
    ['error', { ...fields, attempt: 2 }, 'job hungry failed for good after 2 attempts'],
  ])
  expect(node.outage.isRecent()).toBe(false)
})

it('a job has no attempt counted while its node has lost the database', async () => {
  const kind = jobKind<{ n: number }>('patient', { retries: 0 })
  const node = openNode(database, { trusted: () => false })
  const attempts: number[] = []
  const handler = async (_: object, { attempt }: { attempt: number }) => {
    attempts.push(attempt)
    if (attempt < 3) throw outOfMemory()
  }
  node.jobs.work(kind, handler, { pollSeconds: 0.05 })
  await node.jobs.start()
  await node.db.acrossTenants((tx) => node.jobs.send(tx, kind, { n: 1 }))
  await until('it is done', async () =>
    isTrue(attempts.length === 3 && (await rowsOf(database, 'patient')).length === 0),
  )
  expect(node.logged).toEqual([])
})

it('jobs continue after the database server has repeatedly closed their connections', async () => {
  const kind = jobKind<{ n: number }>('terminated')
  const node = openNode(database)
  const seen = new Set<number>()
  node.jobs.work(kind, async ({ n }) => void seen.add(n), { pollSeconds: 0.05 })
  await node.jobs.start()
  for (let n = 0; n < 5; n += 1) {
    await database.sql(
      `insert into pgboss.job (name, data, policy) values ('terminated', $1, 'short')`,
      [{ n }],
    )
    await database.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()
         and usename is not null and query like '%pgboss%'`,
    )
    await until(`job ${n} is done`, () => isTrue(seen.has(n)))
  }
  expect(node.logged.filter(([level]) => level === 'error')).toEqual([])
})
