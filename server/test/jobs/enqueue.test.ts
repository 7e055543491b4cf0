/** Enqueueing jobs: a job belongs to the transaction that causes it. */
import { beforeAll, expect, it } from 'vitest'
import { jobKind } from '../../src/platform/jobs/index.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { aTenant, openNode, rowsOf } from '../support/jobs.ts'
import { until } from '../support/until.ts'

let database: TestDatabase
let tenantId: number

beforeAll(async () => {
  database = await migratedDatabase()
  tenantId = await aTenant(database)
})

const done = (seen: unknown[], count: number) =>
  until(`${count} jobs are done`, () => (seen.length >= count ? true : undefined))

it('a job runs after its transaction is committed, with the data that was enqueued', async () => {
  const kind = jobKind<{ note: string }>('committed')
  const node = openNode(database)
  const seen: unknown[] = []
  node.jobs.work(kind, async (data, { attempt }) => void seen.push([data.note, attempt]))
  await node.jobs.start()
  await node.db.inTenant(tenantId, (tx) => node.jobs.send(tx, kind, { note: 'søster "2"' }))
  await done(seen, 1)
  expect(seen).toEqual([['søster "2"', 1]])
  await until('what is done leaves no trace', async () =>
    (await rowsOf(database, 'committed')).length === 0 ? true : undefined,
  )
})

it('a job is removed when its transaction is rolled back', async () => {
  const kind = jobKind<{ n: number }>('rolled-back')
  const node = openNode(database)
  const seen: number[] = []
  node.jobs.work(kind, async ({ n }) => void seen.push(n))
  await node.jobs.start()
  await expect(
    node.db.inTenant(tenantId, async (tx) => {
      await node.jobs.send(tx, kind, { n: 1 })
      throw new Error('changed my mind')
    }),
  ).rejects.toThrow('changed my mind')
  await node.db.acrossTenants((tx) => node.jobs.send(tx, kind, { n: 2 }))
  await done(seen, 1)
  expect(seen).toEqual([2])
})

it('a job is started as soon as its transaction is committed, long before the next poll', async () => {
  const kind = jobKind<{ n: number }>('woken')
  const node = openNode(database)
  const seen: number[] = []
  node.jobs.work(kind, async ({ n }) => void seen.push(n), { pollSeconds: 3600, concurrency: 2 })
  await node.jobs.start()
  for (const n of [1, 2, 3, 4, 5])
    await node.db.inTenant(tenantId, (tx) => node.jobs.send(tx, kind, { n }))
  await done(seen, 5)
  expect(seen.toSorted()).toEqual([1, 2, 3, 4, 5])
})

it('a job of a process that only enqueues runs in another process', async () => {
  const kind = jobKind<{ n: number }>('elsewhere')
  const api = openNode(database, { works: false })
  const worker = openNode(database)
  const seen: string[] = []
  api.jobs.work(kind, async () => void seen.push('api'))
  worker.jobs.work(kind, async () => void seen.push('worker'), { pollSeconds: 0.05 })
  await api.jobs.start()
  await api.db.inTenant(tenantId, (tx) => api.jobs.send(tx, kind, { n: 1 }))
  await worker.jobs.start()
  await done(seen, 1)
  expect(seen).toEqual(['worker'])
})

it('a job with a key is not added while another job with this key waits, but jobs with other keys are', async () => {
  const kind = jobKind<{ n: number }>('keyed')
  const api = openNode(database, { works: false })
  api.jobs.work(kind, async () => undefined)
  await api.jobs.start()
  const send = (n: number, singletonKey?: string) =>
    api.db.inTenant(tenantId, (tx) =>
      api.jobs.send(tx, kind, { n }, singletonKey ? { singletonKey } : {}),
    )
  for (const [n, key] of [[1, 'a'], [2, 'a'], [3, 'b'], [4], [5]] as const) await send(n, key)
  const rows = await rowsOf(database, 'keyed')
  expect(rows.map(({ data }) => data.n).toSorted()).toEqual([1, 3, 4, 5])
})

it('a job can be delayed', async () => {
  const kind = jobKind<{ n: number }>('put-off')
  const node = openNode(database)
  const seen: number[] = []
  node.jobs.work(kind, async ({ n }) => void seen.push(n), { pollSeconds: 0.05 })
  await node.jobs.start()
  await node.db.inTenant(tenantId, async (tx) => {
    await node.jobs.send(tx, kind, { n: 1 }, { startAfterSeconds: 3600 })
    await node.jobs.send(tx, kind, { n: 2 })
  })
  await done(seen, 1)
  expect(seen).toEqual([2])
  await database.sql(`update pgboss.job set start_after = now() where name = 'put-off'`)
  await done(seen, 2)
})

it('a job never runs in two workers, however many workers poll concurrently', async () => {
  const kind = jobKind<{ n: number }>('raced')
  const runs: number[] = []
  const nodes = [openNode(database), openNode(database), openNode(database)]
  for (const { jobs } of nodes) {
    jobs.work(kind, async ({ n }) => void runs.push(n), { concurrency: 8, pollSeconds: 0.02 })
    await jobs.start()
  }
  const [first] = nodes
  const wanted = Array.from({ length: 200 }, (_, n) => n)
  await Promise.all(
    wanted.map((n) => first?.db.inTenant(tenantId, (tx) => first.jobs.send(tx, kind, { n }))),
  )
  await until('all jobs are done and gone', async () =>
    (await rowsOf(database, 'raced')).length === 0 ? true : undefined,
  )
  expect(runs.toSorted((a, b) => a - b)).toEqual(wanted)
})

it('a job without a handler is rejected immediately, so that it is not lost', async () => {
  const node = openNode(database)
  const stray = jobKind<{ n: number }>('stray')
  await node.jobs.start()
  await expect(
    node.db.inTenant(tenantId, (tx) => node.jobs.send(tx, stray, { n: 1 })),
  ).rejects.toThrow('job kind stray has no worker')
})
