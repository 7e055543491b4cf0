/** Moves an installation with a backup, as in the runbooks. Commands and services run as separate processes. */
import { execFileSync } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { emptyDatabase } from '../support/database.ts'
import {
  ADMIN,
  command,
  finished,
  PLAIN,
  type RunningService,
  startService,
  tokenOf,
} from '../support/process.ts'
import { scratch } from '../support/scratch.ts'
import { until } from '../support/until.ts'

// Creating clusters and starting services on them takes time.
vi.setConfig({ testTimeout: 180_000 })

const HELD = /This is a restored copy/
const RELEASED = 'Outgoing mails, webhooks and messages were released.\n'

/** Makes a full backup. Returns its path. */
async function backUp(service: RunningService, dataDir: string): Promise<string> {
  const token = await tokenOf(service)
  const { body } = await service.call('POST', '/api/admin/backup/create', { token, body: {} })
  await until(
    'the backup to be made',
    async () => {
      const job = await service.call('GET', `/api/admin/backup/status/${body.job_id}`, { token })
      if (job.body.status === 'failed') throw new Error(job.body.error)
      return job.body.status === 'completed' || undefined
    },
    60_000,
  )
  return join(dataDir, 'backups', `${body.backup_id}.tar.zst.age`)
}

/** Adds a clinic, which must still exist after every later move. */
async function addClinic(service: RunningService, subdomain: string) {
  const token = await tokenOf(service)
  const body = { name: subdomain, subdomain }
  expect((await service.call('POST', '/api/admin/tenants', { token, body })).status).toBe(201)
}

async function clinicsOf(service: RunningService): Promise<string[]> {
  const token = await tokenOf(service)
  const { body } = await service.call('GET', '/api/admin/tenants', { token })
  return body.map(({ subdomain }: { subdomain: string }) => subdomain).sort()
}

const restored = async (file: string, env: NodeJS.ProcessEnv) => {
  const run = await finished(['backup', 'restore', file], env)
  expect(run.code, run.stderr).toBe(0)
  expect(run.stderr).toMatch(/^(restoring: \d+ %\n)+/)
  expect(run.stdout).toMatch(/was restored: \d+ records/)
}

test('a backup moves everything from the embedded database to DATABASE_URL and back', async () => {
  const first = await scratch()
  const service = await startService({ ...PLAIN, DATA_DIR: first })
  await addClinic(service, 'north')
  expect(service.stdout()).not.toMatch(HELD)
  const file = await backUp(service, first)
  await service.stop()

  const database = await emptyDatabase()
  const key = { ENCRYPTION_KEY_FILE: join(first, 'root.key') }
  const beside = { ...PLAIN, ...key, DATABASE_URL: database.url, DATA_DIR: await scratch() }
  await restored(file, beside)
  const moved = await startService(beside)
  expect(moved.stdout()).toMatch(HELD)
  expect(await clinicsOf(moved)).toEqual(['north', 'platform'])
  await addClinic(moved, 'south')
  const token = await tokenOf(moved)
  const health = await moved.call('GET', '/api/admin/health', { token })
  expect(health.body).toMatchObject({ status: 'degraded', checks: { outbound: 'degraded' } })

  // A mail is queued in the restored copy. The copy sends the mail after the release.
  const outbox = () => readdir(join(beside.DATA_DIR, 'outbox')).catch(() => [])
  const forgotten = { email: ADMIN.email, subdomain: 'platform' }
  const asked = await moved.call('POST', '/api/auth/request-reset', { body: forgotten })
  expect(asked.status).toBe(202)
  await until('the mail to be written', async () => {
    const jobs = await database.sql(`select from pgboss.job where name = 'mail.send'`)
    return jobs.length > 0 || undefined
  })
  expect(await outbox()).toEqual([])
  const release = await finished(['outbound', 'release'], beside)
  expect(release).toMatchObject({ code: 0, stdout: RELEASED })
  await until('the mail to go', async () => (await outbox()).length > 0 || undefined)
  const second = await backUp(moved, beside.DATA_DIR)
  await moved.stop()

  const back = { ...PLAIN, ...key, DATA_DIR: await scratch() }
  await restored(second, back)
  const again = await startService(back)
  expect(await clinicsOf(again)).toEqual(['north', 'platform', 'south'])
  // The command also works next to a service on the embedded database.
  expect(await finished(['outbound', 'release'], back)).toMatchObject({ code: 0, stdout: RELEASED })
  await again.stop()
})

test('a restore without the root key changes nothing, and creates no key', async () => {
  const dataDir = await scratch()
  const run = await finished(['backup', 'restore', '/nowhere'], { DATA_DIR: dataDir })
  expect(run.code).toBe(1)
  expect(run.stderr).toMatch(/only be decrypted with its root key/)
  expect(await readdir(dataDir)).toEqual([])
})

test('a restore killed halfway leaves an empty database, and the next restore succeeds', async () => {
  const dataDir = await scratch()
  const source = await emptyDatabase()
  const service = await startService({ ...PLAIN, DATABASE_URL: source.url, DATA_DIR: dataDir })
  // Enough data for several chunks of the file, each of which is decrypted separately.
  await source.sql(
    `insert into journal (action, resource_type, changes)
     select 'user.created', 'user', jsonb_build_object('noise', md5(random()::text))
     from generate_series(1, 20000)`,
  )
  const file = await backUp(service, dataDir)
  await service.stop()

  const database = await emptyDatabase()
  const env = {
    DATABASE_URL: database.url,
    DATA_DIR: await scratch(),
    ENCRYPTION_KEY_FILE: join(dataDir, 'root.key'),
  }
  const pipe = join(env.DATA_DIR, 'pipe')
  execFileSync('mkfifo', [pipe])
  const run = command(['backup', 'restore', pipe], env)
  // The restore receives half of the file, and then no further bytes.
  const feeding = await open(pipe, 'w')
  for await (const chunk of createReadStream(file, { end: 300_000 })) await feeding.write(chunk)
  await until('the schema to be made, and rows to be waited for', async () => {
    const [row] = await database.sql<{ waits: boolean }>(
      `select exists (select from pg_stat_activity where datname = current_database()
         and backend_xid is not null and wait_event = 'ClientRead'
         and state_change < now() - interval '300 ms') as waits`,
    )
    return row?.waits || undefined
  })
  run.signal('SIGKILL')
  await run.ended
  await feeding.close()
  const relations = () =>
    database.sql(`select relname from pg_class where relnamespace = 'public'::regnamespace
      and relkind in ('r', 'p')`)
  await until('the database to be empty', async () => (await relations()).length === 0 || undefined)
  await restored(file, env)
  const [entries] = await database.sql(
    `select count(*)::int as count from journal where changes ? 'noise'`,
  )
  expect(entries).toEqual({ count: 20_000 })
})
