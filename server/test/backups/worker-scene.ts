/** Helpers that run backup workers on stores that tests can pause. */
import { onTestFinished } from 'vitest'
import type { Store } from '../../src/features/backups/stores/store.ts'
import { openBackupLocks } from '../../src/features/backups/work/locks.ts'
import { type BackupWorkerDeps, startBackupWorker } from '../../src/features/backups/work/worker.ts'
import { ownerClient } from '../../src/platform/db/index.ts'
import { silentLog } from '../support/server-address.ts'
import type { Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { backupKeys } from './support.ts'

/** Returns a store in memory. Tests can replace its `write`. */
export function memoryStore(write?: Store['write']) {
  const files = new Map<string, Buffer>()
  const store: Store = {
    place: 'memory',
    requireRoom: async () => undefined,
    write:
      write ??
      (async (name, source) => void files.set(name, Buffer.concat(await Array.fromAsync(source)))),
    async *read(name) {
      yield files.get(name) ?? Buffer.alloc(0)
    },
    size: async (name) => files.get(name)?.length ?? 0,
    delete: async (name) => {
      files.delete(name)
      return true
    },
    lockedUntil: async () => null,
    list: async () => [...files.keys()].map((name) => ({ name, writtenAt: 0 })),
    sweep: async () => undefined,
    discard: async () => undefined,
  }
  return { store, files }
}

/** Runs a worker with the store until the test ends. */
export async function workOn(
  service: Service,
  store: Store,
  others: Partial<BackupWorkerDeps> = {},
) {
  const openConnection = () => ownerClient(service.database.address)
  const locks = { openConnection: others.openConnection ?? openConnection, log: silentLog }
  const worker = startBackupWorker({
    db: service.app.db,
    clock: service.clock,
    log: silentLog,
    backupKeys: await backupKeys(),
    store,
    locks: openBackupLocks(locks),
    openConnection,
    tables: ['tenants', 'users', 'departments'],
    onCreated: async () => undefined,
    rules: service.app.tables,
    columns: service.app.columns,
    steps: service.app.steps,
    purgedRecords: [],
    conflicts: {},
    verify: async () => undefined,
    differing: async () => [],
    dataDir: service.dataDir,
    ...others,
  })
  onTestFinished(() => worker.stop())
  return worker
}

/** Returns a `write` that reports when it begins, and then waits until it is aborted. */
export function stalling() {
  const begun = Promise.withResolvers<void>()
  const write: Store['write'] = async (_name, source, signal) => {
    await source[Symbol.asyncIterator]().next()
    begun.resolve()
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  return { write, begun: begun.promise }
}

export const jobOf = async (service: Service, id: string) => {
  const [row] = await service.database.sql<{ status: string; error: string | null }>(
    'select status, error from backup_jobs where id = $1',
    [id],
  )
  return row
}
export const has = (service: Service, id: string, status: string) =>
  until(`the job to be ${status}`, async () => {
    const job = await jobOf(service, id)
    return job?.status === status ? job : undefined
  })
