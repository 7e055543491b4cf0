/**
 * The kernel stops accepting bytes while a backup is written: the file system is full, or the process has reached its
 * file size limit. The job fails with a clear error, leaves no file, and the service continues.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { readdir, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { proxyTo } from '../support/database-proxy.ts'
import { PLAIN, type RunningService, startService, tokenOf } from '../support/process.ts'
import { scratch } from '../support/scratch.ts'
import { ROOT_KEY } from '../support/service.ts'
import { until } from '../support/until.ts'
import { contents, fatten } from './support.ts'

const KIB = 1024
/** The free space: enough to begin writing a backup, but not enough to complete it. */
const LEFT = 256 * KIB
const MOUNTED = 24 * KIB * KIB

/** A way in which the backup runs out of space. */
interface Full {
  by: (folder: string) => string[]
  /** Returns the path of the service's folder as the test sees it, which differs in a mount namespace. */
  seen: (folder: string, pid: number) => string
  fill(folder: string, pid: number): Promise<void>
  empty(folder: string, pid: number): Promise<void>
}

/** Available only where namespaces are allowed, so that the test can mount its own small file system. */
const IN_NAMESPACE = ['unshare', '--user', '--map-root-user', '--mount', '--', 'sh', '-c']
const canMount =
  spawnSync('unshare', [...IN_NAMESPACE.slice(1), 'mount -t tmpfs none /mnt']).status === 0
const canLimit = spawnSync('prlimit', ['--version']).status === 0

const limit = (pid: number, size: string) =>
  void execFileSync('prlimit', ['--pid', String(pid), `--fsize=${size}:`])

const smallFileSystem: Full = {
  by: (folder) => [
    ...IN_NAMESPACE,
    `mount -t tmpfs -o size=${MOUNTED} none "$0" && exec "$@"`,
    folder,
  ],
  seen: (folder, pid) => `/proc/${pid}/root${folder}`,
  async fill(folder) {
    const filler = join(folder, 'filler')
    const all = writeFile(filler, Buffer.alloc(MOUNTED))
    await expect(all).rejects.toMatchObject({ code: 'ENOSPC' })
    await truncate(filler, (await stat(filler)).size - LEFT)
  },
  empty: (folder) => rm(join(folder, 'filler')),
}

const shortFiles: Full = {
  by: () => [],
  seen: (folder) => folder,
  fill: async (_, pid) => limit(pid, String(LEFT)),
  empty: async (_, pid) => limit(pid, 'unlimited'),
}

/** Returns a function that sends requests as the superadmin. */
function ordersOn(service: RunningService, database: TestDatabase) {
  const call = async (method: string, path: string, body?: object) =>
    service.call(method, path, { token: await tokenOf(service), ...(body ? { body } : {}) })
  return {
    call,
    /** Requests a job and waits until it has ended. Returns the job. */
    async order(kind: 'create' | 'restore', body: object): Promise<any> {
      const answer = await call('POST', `/api/admin/backup/${kind}`, body)
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
      return until('the job to end', async () => {
        const [job] = await database.sql<any>('select * from backup_jobs where id = $1', [
          answer.body.job_id,
        ])
        return ['completed', 'failed'].includes(job.status) ? job : undefined
      })
    },
  }
}

test.skipIf(!canMount)('a backup fails cleanly on a full file system', () =>
  fails(smallFileSystem, 'ENOSPC'),
)
test.skipIf(!canLimit)('a backup fails cleanly when its process reaches the file size limit', () =>
  fails(shortFiles, 'EFBIG'),
)

async function fails(full: Full, code: string): Promise<void> {
  const database = await migratedDatabase()
  const folder = await scratch()
  const service = await startService(
    {
      ...PLAIN,
      // Connects by TCP, because the namespace cannot reach the folder of the server's socket.
      DATABASE_URL: (await proxyTo(database)).url,
      ENCRYPTION_KEY: ROOT_KEY.toString('base64'),
      DATA_DIR: await scratch(),
      BACKUP_DIR: folder,
      LOG_LEVEL: 'error',
    },
    { by: full.by(folder) },
  )
  const seen = full.seen(folder, service.pid)
  const { call, order } = ordersOn(service, database)
  const tenant = (await call('POST', '/api/admin/tenants', { name: 'North', subdomain: 'north' }))
    .body
  await fatten(database, tenant.id)
  const before = await order('create', { type: 'full' })
  expect(before).toMatchObject({ status: 'completed' })

  await full.fill(seen, service.pid)
  const there = (await readdir(seen)).sort()
  const ofClinic = { type: 'tenant', tenant_id: tenant.id }
  await database.sql(`update tenants set name = 'Since' where id = $1`, [tenant.id])
  for (const [kind, body] of [
    ['create', ofClinic],
    ['create', { type: 'full' }],
    ['restore', { backup_id: before.backup_id, confirm: true }],
    ['restore', { backup_id: before.backup_id, tenant_id: tenant.id, confirm: true }],
  ] as const) {
    const job = await order(kind, body)
    expect(job).toMatchObject({ status: 'failed' })
    // The service checks free space before a full backup. For a backup of one clinic, the kernel reports the error.
    const why = 'tenant_id' in body ? `is full (${code})` : /is full|of free space/
    expect(job.error).toMatch(why)
    expect((await readdir(seen)).sort()).toEqual(there)
    if (kind === 'create') continue
    const opened = await until('the service to be open', async () => {
      const answer = await call('GET', `/api/admin/tenants/${tenant.id}`).catch(() => undefined)
      return answer?.status === 200 ? answer : undefined
    })
    expect(opened.body.name).toBe('Since')
  }
  // The restore detects a disk that is already full before it enters maintenance mode.
  const begun = await database.sql(
    `select from backups where reason = 'safety' and tenant_id is null`,
  )
  if (code === 'ENOSPC') expect(begun).toEqual([])
  const { items } = (await call('GET', '/api/admin/backup/list')).body
  const whole = items.filter(({ status }: any) => status !== 'failed')
  expect(whole.map(({ backup_id }: any) => backup_id)).toEqual([before.backup_id])

  await full.empty(seen, service.pid)
  const after = await order('create', ofClinic)
  expect(after).toMatchObject({ status: 'completed', error: null })
  const { rowsOf } = await contents(join(seen, `${after.backup_id}.tar.zst.age`))
  expect(rowsOf('tenants')).toMatchObject([{ name: 'Since' }])
}
