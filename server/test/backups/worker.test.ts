/** When the backup worker pauses, and the effects of a lost connection or process. */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { createBackup } from '../../src/features/backups/create/create.ts'
import { NoRoomError, type Store } from '../../src/features/backups/stores/store.ts'
import { ownerClient } from '../../src/platform/db/index.ts'
import { superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { backupKeys, order } from './support.ts'
import { has, jobOf, memoryStore, stalling, workOn } from './worker-scene.ts'

let service: Service
beforeAll(async () => {
  service = await openService()
})

test('a migration does not wait for a running backup, which is interrupted and made afterwards', async () => {
  const { job_id } = await order(service, await superadmin(service))
  const { write, begun } = stalling()
  const first = await workOn(service, memoryStore(write).store)
  await begun
  // Requests a lock that the backup blocks, and that would block all later requests.
  await service.database.sql('alter table departments add column later integer')
  await first.stop()
  expect(await jobOf(service, job_id)).toMatchObject({ status: 'queued' })
  await service.database.sql('alter table departments drop column later')
  const { store, files } = memoryStore()
  await workOn(service, store)
  await has(service, job_id, 'completed')
  expect(files.size).toBe(2)
})

test('a paused backup worker neither writes nor verifies', async () => {
  const client = ownerClient(service.database.address)
  await client.connect()
  onTestFinished(() => client.end())
  const { store, files } = memoryStore()
  const seen: string[] = []
  const made = await createBackup(
    client,
    { backup_id: randomUUID(), type: 'full', tenant_id: null },
    { backupKeys: await backupKeys(), store, tables: ['tenants', 'users'] },
    {
      signal: new AbortController().signal,
      progress: ({ share }) => void seen.push(share < 0.8 ? 'part' : 'end'),
      holding: () => undefined,
      async rest() {
        const before = seen.length
        await delay(20)
        seen.push(before === seen.length ? `rest with ${files.size}` : 'it went on')
      },
    },
  )
  expect(made.records).toBeGreaterThan(1)
  expect(seen).not.toContain('it went on')
  expect(seen).toContain('rest with 0')
  expect(seen).toContain('rest with 1')
})

test('the backup worker stops immediately on shutdown, and leaves the job to the next worker', async () => {
  const { job_id } = await order(service, await superadmin(service))
  const { write, begun } = stalling()
  const worker = await workOn(service, memoryStore(write).store)
  await begun
  await worker.stop()
  expect(await jobOf(service, job_id)).toMatchObject({ status: 'queued' })
  await workOn(service, memoryStore().store)
  await has(service, job_id, 'completed')
})

test('a backup fails and leaves nothing if a connection is lost', async () => {
  const { job_id } = await order(service, await superadmin(service))
  const held = memoryStore()
  const begun = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const write: Store['write'] = async (name, source) => {
    held.files.set(name, Buffer.from('a part'))
    const chunks = source[Symbol.asyncIterator]()
    await chunks.next()
    begun.resolve()
    await go.promise
    while (!(await chunks.next()).done);
  }
  await workOn(service, { ...held.store, write })
  await begun.promise
  await service.database.sql(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and query like 'copy%'`,
  )
  go.resolve()
  expect((await has(service, job_id, 'failed'))?.error).toMatch(/[.]$/)
  expect(held.files.size).toBe(0)
})

test('a backup fails if the disk is full, and the message names a remedy', async () => {
  const { job_id } = await order(service, await superadmin(service))
  await workOn(
    service,
    memoryStore(async () => {
      throw new NoRoomError('there is room for 1 MiB, and 2 MiB are needed: free some')
    }).store,
  )
  const job = await has(service, job_id, 'failed')
  expect(job?.error).toBe('there is room for 1 MiB, and 2 MiB are needed: free some.')
})

test('a backup fails if the stored file differs by one byte', async () => {
  const { job_id, backup_id } = await order(service, await superadmin(service))
  const { store, files } = memoryStore()
  const write: Store['write'] = async (name, ...rest) => {
    await store.write(name, ...rest)
    const kept = files.get(name)
    if (kept && name.endsWith('.age'))
      kept.writeUInt8(kept.readUInt8(kept.length >> 1) ^ 1, kept.length >> 1)
  }
  await workOn(service, { ...store, write })
  const job = await has(service, job_id, 'failed')
  expect(job?.error).toMatch(`${backup_id}.tar.zst.age differs from the file that was written`)
  expect([...files.keys()]).toEqual([])
})

test('two workers share one queue and run each job once', async () => {
  const root = await superadmin(service)
  const written: string[] = []
  const held = memoryStore()
  const write: Store['write'] = (name, ...rest) => {
    written.push(name)
    return held.store.write(name, ...rest)
  }
  await Promise.all([
    workOn(service, { ...held.store, write }),
    workOn(service, { ...held.store, write }),
  ])
  const { job_id } = await order(service, root)
  await has(service, job_id, 'completed')
  expect(new Set(written).size).toBe(written.length)
})

test('a backup leaves nothing in the store if the clinic is purged while the backup runs', async () => {
  const { job_id, backup_id } = await order(service, await superadmin(service))
  const memory = memoryStore()
  const purged = Promise.withResolvers<void>()
  const { write } = memory.store
  memory.store.write = async (name, source, signal) => {
    await write(name, source, signal)
    if (!name.endsWith('.json')) return
    await service.database.sql('delete from backups where id = $1', [backup_id])
    purged.resolve()
  }
  await workOn(service, memory.store)
  await purged.promise
  await until('the files to be gone', async () => memory.files.size === 0 || undefined)
  expect(await jobOf(service, job_id)).toBeUndefined()
})
