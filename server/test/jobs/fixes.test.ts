/** Jobs that nobody takes back, or that were given up: seen with what failed, and set going again. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { beforeAll, expect, test } from 'vitest'
import type { Finding } from '../../src/platform/fix.ts'
import { type JobKind, jobKind } from '../../src/platform/jobs/index.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { findings, fixOf, look, repair } from '../support/fixes.ts'
import { type JobsNode, openNode, rowsOf } from '../support/jobs.ts'
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
/** Its upkeep comes to nobody's help. */
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

/** A node that has begun the job and hangs, and another that sees it long after the lease. */
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

test('a job of a process that hangs is seen once its lease is well over, and done by another', async () => {
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

test('one that has no attempt left is given up then, and told of as such', async () => {
  const kind = jobKind<Data>(nameOf('last'), { retries: 0 })
  const { node, letTimePass } = await hanging(kind)
  await letTimePass()
  const stuck = (await findingOf(node, 'jobs.stuck', kind)) as Finding
  expect(await repair(node.db, fixOf(node.jobs.fixes, 'jobs.stuck'), stuck)).toBe('repaired')
  expect(await stateOf(kind)).toBe('failed')
  expect(await findingOf(node, 'jobs.given_up', kind)).toMatchObject({
    measured: { jobs: 1, error: 'timed out' },
  })
})

/** Given up for real: its only attempt fails. */
async function givenUp(kind: JobKind<Data>, count = 1) {
  const node = openLazy()
  const isMended = { now: false }
  node.jobs.work(
    kind,
    async ({ email }) => {
      if (isMended.now) return
      throw Object.assign(new TypeError(`cannot write to ${email}`), { code: 'EFAR' })
    },
    { concurrency: 3, pollSeconds: 0.05 },
  )
  await node.jobs.start()
  for (let n = 0; n < count; n += 1) await send(node, kind)
  await until('all are given up', async () => {
    const rows = await rowsOf(database, kind.name)
    return rows.length === count && rows.every(({ state }) => state === 'failed') ? true : undefined
  })
  return { node, isMended }
}

test('jobs that were given up are told of with the class of the error, and tried again', async () => {
  const kind = jobKind<Data>(nameOf('failing'), { retries: 0 })
  const { node, isMended } = await givenUp(kind, 3)
  const finding = (await findingOf(node, 'jobs.given_up', kind)) as Finding
  expect(finding).toEqual({
    tenant_id: null,
    subject: `jobs ${kind.name}`,
    measured: {
      kind: kind.name,
      jobs: 3,
      error: 'TypeError EFAR',
      last: expect.stringMatching(/^\d{4}-.*Z$/),
    },
    expected: { jobs: 0 },
    since: expect.stringMatching(/^\d{4}-.*Z$/),
  })
  expect(JSON.stringify(finding)).not.toContain('anna')
  expect(await findingOf(node, 'jobs.too_late', kind)).toBeUndefined()
  const fix = fixOf(node.jobs.fixes, 'jobs.given_up')
  isMended.now = true
  const both = await Promise.all([1, 2].map(() => repair(node.db, fix, finding)))
  expect(both).toContain('repaired')
  expect(await findingOf(node, 'jobs.given_up', kind)).toBeUndefined()
  await until('all are done', async () => {
    return (await rowsOf(database, kind.name)).length === 0 || undefined
  })
  expect(await repair(node.db, fix, finding)).toBe('already gone')
})

test('what still fails is given up again after one attempt more, and found again', async () => {
  const kind = jobKind<Data>(nameOf('hopeless'), { retries: 0 })
  const { node } = await givenUp(kind)
  const before = (await findingOf(node, 'jobs.given_up', kind)) as Finding
  await repair(node.db, fixOf(node.jobs.fixes, 'jobs.given_up'), before)
  const after = await until('it has failed again', async () => {
    const found = await findingOf(node, 'jobs.given_up', kind)
    return found && found.measured.last !== before.measured.last ? found : undefined
  })
  expect(after.subject).toBe(before.subject)
})

test('what would come too late is told of, as are kinds that this release does not know', async () => {
  const late = jobKind<Data>(nameOf('late'), { retries: 0, mayRunLate: false })
  const { node } = await givenUp(late)
  const gone = jobKind<Data>(nameOf('gone'), { retries: 0 })
  await (await givenUp(gone)).node.stop()
  for (const kind of [late, gone]) {
    expect(await findingOf(node, 'jobs.given_up', kind)).toBeUndefined()
    expect(await findingOf(node, 'jobs.too_late', kind)).toMatchObject({
      measured: { jobs: 1, error: 'TypeError EFAR' },
    })
  }
  expect(fixOf(node.jobs.fixes, 'jobs.too_late').repair).toBeUndefined()
})

test('what runs, waits, or failed and is tried again is no fault', async () => {
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
