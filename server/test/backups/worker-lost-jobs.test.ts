/** A process loses a job, or returns it to the queue. The job is never left half done and never counts twice. */
import { afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Store } from '../../src/features/backups/stores/store.ts'
import { requireAtWork } from '../../src/features/backups/work/work.store.ts'
import { ownerClient, type PgConnection } from '../../src/platform/db/index.ts'
import { superadmin } from '../support/clinics.ts'
import { migratedDatabase } from '../support/database.ts'
import { type DatabaseProxy, proxyTo } from '../support/database-proxy.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { order } from './support.ts'
import { has, jobOf, memoryStore, stalling, workOn } from './worker-scene.ts'

let service: Service
let proxy: DatabaseProxy
beforeAll(async () => {
  const database = await migratedDatabase()
  proxy = await proxyTo(database)
  service = await openService({
    database: { ...database, address: { url: proxy.url } },
  })
})

/** Opens connections that the test can inspect: one for each job's lock, and one for the work. */
function recording() {
  const opened: PgConnection[] = []
  const openConnection = () => {
    const client = ownerClient(service.database.address)
    opened.push(client)
    return client
  }
  const pids = () => opened.map((client) => (client as unknown as { processID: number }).processID)
  return { opened, pids, openConnection }
}

const gates: (() => void)[] = []
// Opens the gates before the workers stop, because workers wait at the gates, even after a failed test.
afterEach(() => {
  for (const open of gates.splice(0)) open()
})

/** Returns a gate. The gate reports when a caller reaches it, and blocks the caller until it is opened. */
function gate() {
  const reached = Promise.withResolvers<void>()
  const open = Promise.withResolvers<void>()
  gates.push(open.resolve)
  const pass = () => {
    reached.resolve()
    return open.promise
  }
  return { pass, reached: reached.promise, open: () => open.resolve() }
}

/** Wraps the store so that reads of matching files wait for the gate. */
const heldReads = (store: Store, pass: () => Promise<void>, name: RegExp): Store => ({
  ...store,
  async *read(one) {
    if (name.test(one)) await pass()
    yield* store.read(one)
  },
})

/** Wraps the store so that discarding an unfinished file waits for the gate. */
const slowToDiscard = (store: Store, pass: () => Promise<void>): Store => ({
  ...store,
  discard: pass,
})

/**
 * Returns a database that reports when the worker polls the queue. By then the worker has marked abandoned jobs as
 * failed.
 */
function watchedLooks() {
  const db = service.app.db.duringMaintenance()
  const looked = Promise.withResolvers<void>()
  const watched: typeof db = {
    ...db,
    duringMaintenance: () => watched,
    acrossTenants(run, mode) {
      if (mode === 'read') looked.resolve()
      return db.acrossTenants(run, mode)
    },
  }
  return { db: watched, looked: looked.promise }
}

const sql = (text: string, ...values: unknown[]) => service.database.sql<any>(text, values)
const statusOf = async (backup: string) =>
  (await sql('select status from backups where id = $1', backup))[0]?.status
const toldOf = async (backup: string) =>
  (await sql('select action from journal where resource_id = $1 order by id', backup)).map(
    ({ action }) => action,
  )
/** Marks the job as failed, as another process does when it considers the job abandoned. */
const failByHand = (job: string, backup: string) =>
  sql(
    `with job as (update backup_jobs set status = 'failed' where id = $1)
     update backups set status = 'failed' where id = $2 and status <> 'completed'`,
    job,
    backup,
  )

describe('a backup job that loses its lock', () => {
  test('fails, even while the worker waits to verify the stored file', async () => {
    const { job_id, backup_id } = await order(service, await superadmin(service))
    const memory = memoryStore()
    const { pass, reached, open } = gate()
    const { openConnection, opened, pids } = recording()
    await workOn(service, heldReads(memory.store, pass, /age$/), { openConnection })
    await reached
    const holding = await sql(
      `select l.pid from pg_locks l join backup_jobs j on j.number::bigint::oid = l.objid
       where l.locktype = 'advisory' and l.objsubid = 2 and l.granted and j.id = $1
         and l.database = (select oid from pg_database where datname = current_database()) order by l.pid`,
      job_id,
    )
    expect(holding.map(({ pid }) => pid)).toEqual(pids().sort((one, other) => one - other))
    const [holder] = opened
    if (!holder) throw new Error('no connection was opened')
    const ended = new Promise((resolve) => holder.once('end', resolve))
    await sql('select pg_terminate_backend($1)', pids()[0])
    await ended
    open()
    expect((await has(service, job_id, 'failed'))?.error).toMatch(/[.]$/)
    expect(await statusOf(backup_id)).toBe('failed')
    expect(memory.files.size).toBe(0)
  })

  test('is not completed by any process', async () => {
    const { job_id } = await order(service, await superadmin(service))
    const [{ number }] = await sql(
      `update backup_jobs set status = 'running' where id = $1 returning number`,
      job_id,
    )
    onTestFinished(async () => {
      await sql('delete from backup_jobs where id = $1', job_id)
    })
    const requiring = service.app.db.acrossTenants((tx) =>
      requireAtWork(tx, { id: job_id, number }),
    )
    await expect(requiring).rejects.toThrow('lost its database connection')
  })
})

describe('a backup job that another process has ended', () => {
  test('does not complete the backup, keeps no file, and publishes nothing else', async () => {
    const { job_id, backup_id } = await order(service, await superadmin(service))
    const memory = memoryStore()
    const { pass, reached, open } = gate()
    const worker = await workOn(service, heldReads(memory.store, pass, /age$/))
    await reached
    await failByHand(job_id, backup_id)
    open()
    await until('the files to be gone', () => memory.files.size === 0 || undefined)
    await worker.stop()
    expect(await statusOf(backup_id)).toBe('failed')
    expect(await jobOf(service, job_id)).toMatchObject({ status: 'failed' })
    expect(await toldOf(backup_id)).toEqual([])
  })

  test('does not return a paused backup to the queue', async () => {
    const { job_id, backup_id } = await order(service, await superadmin(service))
    const { write, begun } = stalling()
    const { pass, reached, open } = gate()
    const worker = await workOn(service, slowToDiscard(memoryStore(write).store, pass))
    await begun
    const stopped = worker.stop()
    await reached
    await failByHand(job_id, backup_id)
    open()
    await stopped
    expect(await jobOf(service, job_id)).toMatchObject({ status: 'failed' })
    expect(await statusOf(backup_id)).toBe('failed')
  })

  test('keeps the former file of a backup that is being rewritten', async () => {
    const { job_id, backup_id } = await order(service, await superadmin(service))
    const memory = memoryStore()
    const first = await workOn(service, memory.store)
    await has(service, job_id, 'completed')
    await first.stop()
    const before = [...memory.files.keys()].sort()
    const [{ id: forgetting }] = await sql(
      `insert into backup_jobs (id, backup_id, kind, actor)
       select gen_random_uuid(), backup_id, 'forget', actor from backup_jobs where id = $1
       returning id`,
      job_id,
    )
    const { pass, reached, open } = gate()
    const worker = await workOn(service, heldReads(memory.store, pass, /[.]\d+[.]tar[.]zst[.]age$/))
    await reached
    expect(memory.files.size).toBe(before.length + 1)
    await failByHand(forgetting, backup_id)
    open()
    await until('a file to be gone', () => memory.files.size === before.length || undefined)
    await worker.stop()
    expect([...memory.files.keys()].sort()).toEqual(before)
    expect(await sql('select status, rewritten_at from backups where id = $1', backup_id)).toEqual([
      { status: 'completed', rewritten_at: null },
    ])
    expect(await jobOf(service, forgetting)).toMatchObject({ status: 'failed' })
    expect(await toldOf(backup_id)).toEqual(['backup.created'])
  })
})

test('a job interrupted by a shutdown does not count as abandoned, even if its cleanup is slow', async () => {
  const { job_id, backup_id } = await order(service, await superadmin(service))
  const { write, begun } = stalling()
  const { pass, reached, open } = gate()
  const { openConnection, pids } = recording()
  const first = await workOn(service, slowToDiscard(memoryStore(write).store, pass), {
    openConnection,
  })
  await begun
  const worked = pids().at(-1)
  const stopped = first.stop()
  await reached
  await until('the connection that worked to be gone', async () => {
    const rows = await sql('select from pg_stat_activity where pid = $1', worked)
    return rows.length === 0 || undefined
  })
  const { db, looked } = watchedLooks()
  await workOn(service, memoryStore().store, { db })
  await looked
  expect(await jobOf(service, job_id)).toMatchObject({ status: 'running' })
  open()
  await stopped
  await has(service, job_id, 'completed')
  expect(await statusOf(backup_id)).toBe('completed')
  expect(await toldOf(backup_id)).toEqual(['backup.created'])
})

test('a job keeps its file if the acknowledgement of its commit was lost', async () => {
  const { job_id, backup_id } = await order(service, await superadmin(service))
  const memory = memoryStore()
  proxy.loseCommitAnswerOf('backup.created')
  const worker = await workOn(service, memory.store)
  await has(service, job_id, 'completed')
  await worker.stop()
  expect(proxy.lost()).toBe(1)
  expect([...memory.files.keys()].filter((name) => name.startsWith(backup_id))).toHaveLength(2)
  expect(await statusOf(backup_id)).toBe('completed')
  expect(await toldOf(backup_id)).toEqual(['backup.created'])
})
