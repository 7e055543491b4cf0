/**
 * Kills the restoring process with SIGKILL. The other processes end maintenance mode. The job changes nothing and is
 * not repeated.
 */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { type Clinic, makeClinic, type Person, signIn, superadmin } from '../support/clinics.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { type DatabaseProxy, proxyTo } from '../support/database-proxy.ts'
import { PLAIN, type RunningService, startService } from '../support/process.ts'
import { scratch } from '../support/scratch.ts'
import { openService, ROOT_KEY, type Service, SUPERADMIN } from '../support/service.ts'
import { until } from '../support/until.ts'
import { fatten } from './support.ts'

let database: TestDatabase
let proxy: DatabaseProxy
let folder: string
/** A node that runs no jobs and is not killed. */
let api: Service
let root: Person
let north: Clinic
let backup: string

beforeAll(async () => {
  database = await migratedDatabase()
  folder = await scratch()
  api = await openService({ database, config: { BACKUP_DIR: folder } })
  root = await superadmin(api)
  north = await makeClinic(api, root, 'north')
  await fatten(database, north.id)
  backup = (await api.app.features.backups.commands.create(null, () => undefined)).backup_id
  proxy = await proxyTo(database)
})

/** Starts a process that runs jobs. The test can pause its database connection. */
const startWorker = async (): Promise<RunningService> =>
  startService({
    ...PLAIN,
    DATABASE_URL: proxy.url,
    ENCRYPTION_KEY: ROOT_KEY.toString('base64'),
    DATA_DIR: await scratch(),
    BACKUP_DIR: folder,
    LOG_LEVEL: 'error',
  })

const jobOf = async (id: string) =>
  (await database.sql<any>('select * from backup_jobs where id = $1', [id]))[0]

async function order(body: object): Promise<string> {
  const answer = await api.call('POST', '/api/admin/backup/restore', {
    token: root.token,
    body: { backup_id: backup, ...body },
  })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body.job_id
}

const over = (job: string) =>
  until('the job to end', async () => {
    const row = await jobOf(job)
    return ['completed', 'failed'].includes(row.status) ? row : undefined
  })

const rename = () =>
  database.sql(`update users set full_name = 'Since' where id = $1`, [north.people.nurse.id])
const nameNow = async () =>
  (await database.sql('select full_name from users where id = $1', [north.people.nurse.id]))[0]
    ?.full_name
const look = async () => (await api.call('GET', '/api/users/me', { token: root.token })).status

/** Kills the worker and starts another. Waits until the new worker has failed the job, without repeating it. */
async function killAndBury(worker: RunningService, job: string): Promise<void> {
  worker.signal('SIGKILL')
  await worker.ended
  await until('the other node to answer', async () => (await look()) === 200 || undefined)
  expect(await nameNow()).toBe('Since')
  const { started_at } = await jobOf(job)
  await startWorker()
  expect(await over(job)).toMatchObject({
    status: 'failed',
    started_at,
    result: null,
    error: 'The process ended before the job was completed. Start the job again.',
  })
  // Runs a later job to its end. This shows that no worker has started the failed job again.
  const behind = await over(await order({ dry_run: true }))
  expect(behind).toMatchObject({ status: 'completed' })
  expect(await jobOf(job)).toMatchObject({ status: 'failed', started_at })
  expect(await nameNow()).toBe('Since')
}

/** Signs in again for each list, because a restore ends every session. */
const listed = async (): Promise<any[]> => {
  const tokens = await until('the service to be open', () =>
    signIn(api, { ...SUPERADMIN, subdomain: 'platform' }).catch(() => undefined),
  )
  return (await api.call('GET', '/api/admin/backup/list', { token: tokens.access_token })).body
    .items
}

test('a worker killed while it writes a safety backup leaves no partial file, and a repeated restore succeeds', async () => {
  const worker = await startWorker()
  await rename()
  const held = proxy.holdAnswerOf('from "users") to stdout')
  const job = await order({ confirm: true })
  const part = await until('the file to be begun', async () => {
    const name = (await readdir(folder)).find((one) => one.endsWith('.part'))
    return name && (await stat(join(folder, name))).size > 0 ? name : undefined
  })
  expect(await look()).toBe(503)
  await killAndBury(worker, job)
  held.release()

  const half = part.slice(0, 36)
  expect((await readdir(folder)).filter((name) => name.startsWith(half))).toEqual([])
  expect((await listed()).filter(({ backup_id }) => backup_id === half)).toMatchObject([
    { reason: 'safety', status: 'failed', size_bytes: null },
  ])
  const next = await over(await order({ confirm: true }))
  expect(next).toMatchObject({ status: 'completed', error: null })
  expect(await nameNow()).toBe('nurse of north')
  const whole = (await listed()).filter(({ reason }) => reason === 'safety')
  expect(whole.filter(({ status }) => status === 'completed')).toMatchObject([
    { backup_id: next.result.safety_backup_id },
  ])
})

test('a worker killed during a dry run leaves no partial file, and the dry run causes no 503', async () => {
  root = await superadmin(api)
  const worker = await startWorker()
  await rename()
  const held = proxy.holdAnswerOf('from "stage_users" stage where not exists')
  const job = await order({ dry_run: true })
  await held.answered
  // A dry run does not cause any 503.
  expect(await look()).toBe(200)
  await killAndBury(worker, job)
  held.release()
  expect((await readdir(folder)).filter((name) => name.endsWith('.part'))).toEqual([])
})
