/** A backup that ends while another node restores everything waits for the restore before it completes. */
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { writtenTables } from '../../src/features/backups/restore-in-place/transaction.store.ts'
import { LOCKS, ownerClient, type Scopes } from '../../src/platform/db/index.ts'
import { superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { order } from './support.ts'
import { has, jobOf, memoryStore, workOn } from './worker-scene.ts'

let service: Service

beforeAll(async () => {
  service = await openService()
})

/**
 * Holds the locks of a restore of everything until it is ended.
 * @param isHeard whether all nodes have entered maintenance mode. False simulates a restore that has just begun.
 */
async function restoring({ isHeard }: { isHeard: boolean }): Promise<{ end(): Promise<void> }> {
  const client = ownerClient(service.database.address)
  await client.connect()
  let ended: Promise<void> | undefined
  const end = () => {
    ended ??= client.end()
    return ended
  }
  onTestFinished(end)
  if (isHeard) await client.query('select pg_advisory_lock($1, 0)', [LOCKS.maintenance])
  await client.query('begin')
  const tables = await writtenTables(client, service.app.tables)
  await client.query(`lock table ${tables.join(', ')} in share row exclusive mode`)
  return { end }
}

/** Returns the service's database, which records the error codes that the worker receives. */
function watched() {
  const db = service.app.db.duringMaintenance()
  const refused: string[] = []
  async function noting<T>(work: () => Promise<T> | T): Promise<T> {
    try {
      return await work()
    } catch (error) {
      refused.push((error as { code: string }).code)
      throw error
    }
  }
  const scopes: Scopes = {
    ...db,
    duringMaintenance: () => scopes,
    requireAvailable: (tenantId) => noting(() => db.requireAvailable(tenantId)),
    acrossTenants: (work, mode) => noting(() => db.acrossTenants(work, mode)),
  }
  const often = (code: string) =>
    until(`it to be refused by ${code}, and again`, () =>
      refused.filter((one) => one === code).length > 1 ? true : undefined,
    )
  return { db: scopes, often }
}

const toldOf = async (backup: string) =>
  (
    await service.database.sql<{ action: string }>(
      'select action from journal where resource_id = $1',
      [backup],
    )
  ).map(({ action }) => action)

test.each([
  ['that the worker was notified of', true, 'restoring'],
  ['whose locks the worker waits for', false, '55P03'],
])('the backup worker waits for a restore %s', async (_, isHeard, code) => {
  const { job_id, backup_id } = await order(service, await superadmin(service))
  const restore = await restoring({ isHeard })
  const { store, files } = memoryStore()
  const { db, often } = watched()
  await workOn(service, store, { db })
  await often(code)
  expect(files.size).toBe(2)
  expect(await jobOf(service, job_id)).toMatchObject({ status: 'running' })
  await restore.end()
  await has(service, job_id, 'completed')
  expect([...files.keys()].filter((name) => name.startsWith(backup_id))).toHaveLength(2)
  expect(await toldOf(backup_id)).toEqual(['backup.created'])
})

test('the backup worker stops waiting on shutdown, and the next worker makes the backup', async () => {
  const { job_id, backup_id } = await order(service, await superadmin(service))
  const restore = await restoring({ isHeard: true })
  const { db, often } = watched()
  const memory = memoryStore()
  const worker = await workOn(service, memory.store, { db })
  await often('restoring')
  await worker.stop()
  expect(await jobOf(service, job_id)).toMatchObject({ status: 'queued' })
  expect(memory.files.size).toBe(0)
  await restore.end()
  await workOn(service, memory.store)
  await has(service, job_id, 'completed')
  expect(memory.files.size).toBe(2)
  expect(await toldOf(backup_id)).toEqual(['backup.created'])
})
