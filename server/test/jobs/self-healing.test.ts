/**
 * Jobs of a process that hangs: self-healing finds them after their lease has expired, and another process runs them.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { beforeAll, expect, test } from 'vitest'
import type { Finding } from '../../src/platform/feature/fix.ts'
import { type JobKind, jobKind } from '../../src/platform/jobs/index.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { type JobsNode, openNode, rowsOf } from '../support/jobs.ts'
import { findings, fixOf, look, repair } from '../support/self-healing-fixes.ts'
import { until } from '../support/until.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await migratedDatabase()
})

interface Data {
  email: string
}

const nameOf = (what: string) => `${what}-${randomUUID().slice(0, 8)}`
const DATA: Data = { email: 'anna@clinic.test' }
/** Opens a node whose upkeep never fixes the jobs of others. */
const openLazy = (works = true) => openNode(database, { works, maintenanceSeconds: 45 })
const send = (node: JobsNode, kind: JobKind<Data>) =>
  node.db.acrossTenants((tx) => node.jobs.send(tx, kind, DATA))

async function stateOf(kind: JobKind<Data>): Promise<string | undefined> {
  const [row] = await rowsOf(database, kind.name)
  return row?.state
}
const untilState = (kind: JobKind<Data>, state: string) =>
  until(`it is ${state}`, async () => (await stateOf(kind)) === state || undefined)

async function findingOf(node: JobsNode, key: string, { name }: JobKind<Data>) {
  const found = await findings(node.db, fixOf(node.jobs.fixes, key))
  return found.find(({ subject }) => subject === `jobs ${name}`)
}

/**
 * Opens a node that starts the job and then hangs. A second node checks for hanging jobs after the lease has expired.
 */
async function hanging(kind: JobKind<Data>) {
  const hung = openLazy()
  const attempts: number[] = []
  hung.jobs.work(kind, async (_, { attempt, signal }) => {
    attempts.push(attempt)
    await once(signal, 'abort')
  })
  await hung.jobs.start()
  await send(hung, kind)
  await until('it runs', () => attempts.length > 0 || undefined)
  const node = openLazy()
  node.jobs.work(kind, async (_, { attempt }) => void attempts.push(attempt), {
    pollSeconds: 0.05,
  })
  const letTimePass = () =>
    database.sql(`update pgboss.job set started_on = now() - interval '1 hour' where name = $1`, [
      kind.name,
    ])
  return { node, attempts, letTimePass }
}

test('a job of a process that hangs is found when its lease has ended, and another process runs the job', async () => {
  const kind = jobKind<Data>(nameOf('hung'), { retryDelaySeconds: 0, retryBackoff: false })
  const { node, attempts, letTimePass } = await hanging(kind)
  const stuck = fixOf(node.jobs.fixes, 'jobs.stuck')
  expect(await findingOf(node, 'jobs.stuck', kind)).toBeUndefined()
  await letTimePass()
  const finding = (await findingOf(node, 'jobs.stuck', kind)) as Finding
  expect(finding).toEqual({
    tenant_id: null,
    subject: `jobs ${kind.name}`,
    measured: { kind: kind.name, jobs: 1 },
    expected: { jobs: 0 },
    since: expect.stringMatching(/^\d{4}-.*Z$/),
  })
  expect(JSON.stringify(finding)).not.toContain('anna')
  expect((await look(node.db, stuck)).looked_at).toBeGreaterThan(1)
  const both = await Promise.all([1, 2].map(() => repair(node.db, stuck, finding)))
  expect(both.sort()).toEqual(['already gone', 'repaired'])
  expect(await stateOf(kind)).toBe('retry')
  expect(await findingOf(node, 'jobs.stuck', kind)).toBeUndefined()
  await node.jobs.start()
  await until('it is done', async () => (await stateOf(kind)) === undefined || undefined)
  expect(attempts).toEqual([1, 2])
})

test('a stuck job with no attempts left is marked as failed', async () => {
  const kind = jobKind<Data>(nameOf('last'), { retries: 0 })
  const { node, letTimePass } = await hanging(kind)
  await letTimePass()
  const stuck = (await findingOf(node, 'jobs.stuck', kind)) as Finding
  expect(await repair(node.db, fixOf(node.jobs.fixes, 'jobs.stuck'), stuck)).toBe('repaired')
  expect(await stateOf(kind)).toBe('failed')
})

test('jobs that run, wait or are due for a retry are not reported as stuck', async () => {
  const kind = jobKind<Data>(nameOf('well'), { retries: 5, retryDelaySeconds: 1000 })
  const node = openLazy()
  node.jobs.work(kind, async () => {
    throw new Error('not yet')
  })
  await node.jobs.start()
  await send(node, kind)
  await untilState(kind, 'retry')
  await node.db.acrossTenants((tx) => node.jobs.send(tx, kind, DATA, { startAfterSeconds: 1000 }))
  for (const { key } of node.jobs.fixes) expect(await findingOf(node, key, kind)).toBeUndefined()
})
