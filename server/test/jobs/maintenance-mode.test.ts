/** Jobs pause in maintenance mode. They continue afterwards without a failed attempt. */
import { beforeAll, expect, test } from 'vitest'
import { Problem } from '../../src/lib/problems.ts'
import { jobKind } from '../../src/platform/jobs/index.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { openNode } from '../support/jobs.ts'
import { until } from '../support/until.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await migratedDatabase()
})

test('no job starts in maintenance mode, and all waiting jobs start within seconds after it ends', async () => {
  const kind = jobKind<{ n: number }>('resting')
  const seen: string[] = []
  let isInMaintenance = true
  const resting = openNode(database, { rests: () => isInMaintenance })
  resting.jobs.work(kind, async ({ n }) => void seen.push(`rested ${n}`), { pollSeconds: 3600 })
  await resting.jobs.start()
  await resting.db.acrossTenants((tx) => resting.jobs.send(tx, kind, { n: 1 }))
  // A node that is not in maintenance mode takes the job that the paused node returns to the queue.
  const awake = openNode(database)
  awake.jobs.work(kind, async ({ n }) => void seen.push(`awake ${n}`), { pollSeconds: 3600 })
  await awake.jobs.start()
  await until('the other one to do it', () => seen.length > 0 || undefined)
  await awake.stop()
  expect(seen).toEqual(['awake 1'])
  await resting.db.acrossTenants((tx) => resting.jobs.send(tx, kind, { n: 2 }))
  isInMaintenance = false
  await until('it to go on', () => seen.length > 1 || undefined)
  expect(seen).toEqual(['awake 1', 'rested 2'])
})

test('a job that maintenance mode interrupts returns to the queue, without counting an attempt', async () => {
  const kind = jobKind<object>('refused-meanwhile', { retries: 0 })
  const node = openNode(database)
  const attempts: number[] = []
  const work = async (_data: object, { attempt }: { attempt: number }) => {
    attempts.push(attempt)
    if (attempts.length < 3) throw new Problem('restoring')
  }
  node.jobs.work(kind, work, { pollSeconds: 1 })
  await node.jobs.start()
  await node.db.acrossTenants((tx) => node.jobs.send(tx, kind, {}))
  await until('it to be done', () => attempts.length === 3 || undefined)
  expect(node.logged.filter(([level]) => level === 'error')).toEqual([])
})
