/**
 * Runs `wardkeep backup` while a worker runs. The service's worker then does the job, using the service's own store.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { LOCKS } from '../../src/platform/db/lock-numbers.ts'
import { runCommand } from '../docs/command.ts'
import { OF_THIS_DATABASE } from '../support/database.ts'
import { scratch } from '../support/scratch.ts'
import { openService, ROOT_KEY, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

let service: Service
let elsewhere: string

beforeEach(async () => {
  service = await openService({ background: ['backups', 'jobs'] })
  elsewhere = await scratch()
  await present()
})

/** Waits until a service has announced that it accepts jobs. Returns the database connection that announces it. */
const present = (before?: number): Promise<number> =>
  until('the service to say that it takes jobs', async () => {
    const [row] = await service.database.sql<{ pid: number }>(
      `select pid from pg_locks where locktype = 'advisory' and classid = $1 and granted
         and ${OF_THIS_DATABASE}`,
      [LOCKS.longJobTakers],
    )
    return row?.pid === before ? undefined : row?.pid
  })

/** Runs the command with a backup folder other than the service's. */
async function run(...args: string[]): Promise<any> {
  const ended = await runCommand(['backup', ...args, '--json'], {
    DATABASE_URL: service.database.url,
    ENCRYPTION_KEY: ROOT_KEY.toString('base64'),
    DATA_DIR: elsewhere,
    BACKUP_DIR: elsewhere,
  })
  expect(ended.code, ended.stderr).toBe(0)
  return JSON.parse(ended.stdout)
}

const begun = () => service.logged.filter(([, , told]) => told === 'backup job started').length

test("the backup command lets a running service make the backup and restore in the service's own folder", async () => {
  const { backup_id, status } = await run('create')
  expect(status).toBe('completed')
  const own = join(service.dataDir, 'backups')
  expect(await readdir(own)).toContain(`${backup_id}.tar.zst.age`)
  const { result, ...job } = await run('restore', backup_id, '--yes')
  expect(job).toMatchObject({ kind: 'restore', status: 'completed' })
  expect(await readdir(own)).toContain(`${result.safety_backup_id}.tar.zst.age`)
  expect(await readdir(elsewhere)).toEqual([])
  expect(begun()).toBe(2)
})

test('the backup command makes the backup itself if no running service accepts jobs', async () => {
  await service.close()
  const { backup_id } = await run('create')
  expect(await readdir(elsewhere)).toContain(`${backup_id}.tar.zst.age`)
  expect(begun()).toBe(0)
})

test('the backup command finds a service again after the service has lost its database connection', async () => {
  const before = await present()
  await service.database.sql('select pg_terminate_backend($1)', [before])
  await present(before)
  await run('create')
  expect(begun()).toBe(1)
})
