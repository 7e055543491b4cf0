/** The service on a bucket. Covers all backup operations, and errors that the bucket returns. */
import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { parseS3Url } from '../../src/config/s3-url.ts'
import { drillNewest } from '../../src/features/backups/drill/scheduled-drill.ts'
import { verifyDatabase } from '../../src/features/backups/drill/verify-sealed.ts'
import {
  deleteOrphans,
  deleteOutdatedBackups,
} from '../../src/features/backups/schedule/retention.ts'
import { DAY } from '../../src/lib/clock.ts'
import { StartupError } from '../../src/lib/startup-error.ts'
import { openSealer } from '../../src/platform/crypto/index.ts'
import { runCommand } from '../docs/command.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openS3, type S3Server } from '../support/s3.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, ROOT_KEY, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { storeOf } from './stores.ts'
import { backupKeys, ended, make, order, passMaintenance, readingOf } from './support.ts'

function bucketOf({ url }: S3Server) {
  const { location, credentials } = parseS3Url(url)
  if (!credentials) throw new Error('no credentials')
  return { location, credentials }
}

const retention = ({ app, clock }: Service, server: S3Server, keep: number) => ({
  db: app.db,
  store: storeOf(server),
  clock,
  log: silentLog,
  keep,
})

describe('a service with an S3 bucket', () => {
  let server: S3Server
  let service: Service
  let root: Person
  let clinic: Clinic
  let id: string

  beforeAll(async () => {
    server = await openS3()
    service = await openService({
      background: ['backups', 'jobs'],
      config: { BACKUP_S3_URL: bucketOf(server) },
    })
    root = await superadmin(service)
    clinic = await makeClinic(service, root, 'north')
    id = await make(service, root)
  })

  const call = (method: string, path: string, options: object = {}) =>
    service.call(method, `/api/admin/backup/${path}`, { token: root.token, ...options })
  const commands = () => service.app.features.backups.commands
  const inBucket = async () => (await storeOf(server).list()).map(({ name }) => name).sort()

  test('stores and lists its backups in the bucket, and writes no backup to its own disk', async () => {
    expect(await inBucket()).toEqual([`${id}.json`, `${id}.tar.zst.age`])
    const { items } = (await call('GET', 'list')).body
    expect(items).toMatchObject([{ backup_id: id, status: 'completed', locked_until: null }])
    const health = await service.call('GET', '/api/admin/health', { token: root.token })
    expect(health.body.checks.backups).toBe('ok')
  })

  test('uploads backups in one request or in parts', async () => {
    const [{ size_bytes, sha256 }] = (await call('GET', 'list')).body.items
    const whole = await service.app.server.inject({
      url: `/api/admin/backup/download/${id}`,
      headers: { authorization: `Bearer ${root.token}` },
    })
    expect(createHash('sha256').update(whole.rawPayload).digest('hex')).toBe(sha256)
    const part = await service.app.server.inject({
      url: `/api/admin/backup/download/${id}`,
      headers: { authorization: `Bearer ${root.token}`, range: 'bytes=100-199' },
    })
    expect(part.statusCode).toBe(206)
    expect(part.headers['content-range']).toBe(`bytes 100-199/${size_bytes}`)
    expect(part.rawPayload).toEqual(whole.rawPayload.subarray(100, 200))
  })

  test('makes backups that the command line can read', async () => {
    const { code, stdout } = await runCommand(['backup', 'verify', id, '--json'], {
      DATABASE_URL: service.database.url,
      ENCRYPTION_KEY: ROOT_KEY.toString('base64'),
      DATA_DIR: '/nowhere',
      BACKUP_S3_URL: server.url,
    })
    expect([code, JSON.parse(stdout).backup_id]).toEqual([0, id])
  })

  test.each([
    ['verify', () => commands().verify(id, () => undefined)],
    ['adopt', () => commands().adopt()],
  ])(
    'prints the refusal and no secret if the bucket refuses the command %s',
    async (_what, refuses) => {
      server.breakWith(({ method }) =>
        method === 'GET' ? { status: 403, code: 'AccessDenied' } : undefined,
      )
      const refused = await refuses().catch((error: Error) => error)
      server.breakWith(() => undefined)
      // The command prints the error message without a stack trace.
      expect(refused).toBeInstanceOf(StartupError)
      expect(String(refused)).toMatch(
        /did not complete: the backup store .* rejected a request: GET 403 AccessDenied/,
      )
      expect(String(refused)).not.toContain('S3RVER')
    },
  )

  test('can adopt its backups after the loss of the database', async () => {
    const gone = await make(service, clinic.people.admin)
    await service.database.sql('delete from backups where id = $1', [gone])
    expect(await commands().adopt()).toEqual({ adopted: [gone], refused: [] })
    expect((await call('DELETE', gone)).status).toBe(200)
    await until('the files to be gone', async () => (await inBucket()).length === 2 || undefined)
  })

  test('passes a restore drill', async () => {
    const seconds = await drillNewest({
      db: service.app.db,
      store: storeOf(server),
      dataDir: service.dataDir,
      backupKeys: await backupKeys(),
      verify: (address) => verifyDatabase(address, openSealer(ROOT_KEY), []),
      log: silentLog,
      reading: readingOf(service),
    })
    expect(seconds).toBeGreaterThan(0)
  })

  test('reports a failed backup with the message of the store, and leaves no object', async () => {
    server.breakWith(({ method }) =>
      method === 'PUT' ? { status: 403, code: 'QuotaExceeded', message: 'Full.' } : undefined,
    )
    const { job_id } = await order(service, root)
    const { status, error } = await ended(service, root, job_id)
    server.breakWith(() => undefined)
    expect(status).toBe('failed')
    expect(error).toMatch(
      /^the backup store http:.* rejected a request: PUT 403 QuotaExceeded Full[.]$/,
    )
    expect(error).not.toContain('S3RVER')
    expect(await inBucket()).toHaveLength(2)
  })

  test('answers 503 while the bucket refuses access, and deletes no row whose file still exists', async () => {
    server.breakWith(() => ({ status: 403, code: 'AccessDenied' }))
    for (const [method, path] of [
      ['GET', `download/${id}`],
      ['DELETE', id],
    ] as const)
      expect(await call(method, path)).toMatchObject({
        status: 503,
        body: { code: 'backup_store_away' },
      })
    server.breakWith(() => undefined)
    expect((await call('GET', 'list')).body.items.map((one: any) => one.backup_id)).toContain(id)
  })

  test('deletes outdated backups, and partial files that a crash left behind', async () => {
    const older = await make(service, root)
    await make(service, root)
    await deleteOutdatedBackups(retention(service, server, 1), new AbortController().signal)
    server.uploads.set('left', { key: 'wardkeep/x', begunAt: service.clock.now() - 3 * DAY })
    await deleteOrphans(retention(service, server, 1))
    await until('the older to be gone', async () => {
      const names = await inBucket()
      return names.every((name) => !name.startsWith(older)) || undefined
    })
    expect(server.uploads.size).toBe(0)
  })

  test('restores a clinic from a backup', async () => {
    const departments = '/api/admin/departments'
    const { token } = clinic.people.admin
    const made = await service.call('POST', departments, { token, body: { name: 'Later' } })
    expect(made.status).toBe(201)
    const { body } = await call('POST', 'restore', {
      body: { backup_id: id, tenant_id: clinic.id, confirm: true },
    })
    await passMaintenance(service, body.job_id)
    const job = await ended(service, root, body.job_id)
    expect(job).toMatchObject({ status: 'completed', error: null })
    const [{ count } = {}] = await service.database.sql<{ count: number }>(
      "select count(*)::int from departments where name = 'Later'",
    )
    expect(count).toBe(0)
    expect(await inBucket()).toContain(`${job.result.safety_backup_id}.json`)
  })
})

describe('a bucket with BACKUP_S3_LOCK_DAYS', () => {
  test('refuses to delete a backup until its lock ends, and the list shows when the lock ends', async () => {
    const server = await openS3()
    const config = { BACKUP_S3_URL: bucketOf(server), BACKUP_S3_LOCK_DAYS: 5 }
    const service = await openService({ background: ['backups', 'jobs'], config })
    const root = await superadmin(service)
    const id = await make(service, root)
    await make(service, root)
    const options = { token: root.token }
    const { items } = (await service.call('GET', '/api/admin/backup/list', options)).body
    const until = Date.parse(items[1].locked_until)
    expect(items[1].backup_id).toBe(id)
    expect(until).toBeGreaterThan(Date.parse(items[1].created_at) + 5 * DAY - 1)

    const refused = await service.call('DELETE', `/api/admin/backup/${id}`, options)
    expect(refused).toMatchObject({ status: 409, body: { code: 'backup_locked' } })
    const prune = () =>
      deleteOutdatedBackups(retention(service, server, 1), new AbortController().signal)
    const left = () => service.database.sql('select from backups')
    await prune()
    // The error of the refused deletion mentions the lock even if the backup list has no record of the lock.
    await service.database.sql('update backups set locked_until = null')
    await prune()
    expect(await left()).toHaveLength(2)
    service.clock.advance(6 * DAY)
    server.now += 6 * DAY
    await prune()
    expect(await left()).toHaveLength(1)
    expect(server.hidden).toEqual([])
  })
})

test('startup continues when the bucket refuses access, and logs the refusal', async () => {
  const server = await openS3()
  server.breakWith(() => ({ status: 404, code: 'NoSuchBucket' }))
  const service = await openService({
    background: ['backups', 'jobs'],
    config: { BACKUP_S3_URL: bucketOf(server) },
  })
  expect(JSON.stringify(service.logged.map(([level, , said]) => [level, said]))).toContain(
    '["warn","backup store check failed"]',
  )
  const told = service.logged.flatMap(
    ([, fields]) => (fields as { err?: Error }).err?.message ?? [],
  )
  expect(told.join()).toContain('NoSuchBucket')
  const { token } = await superadmin(service)
  const { body } = await service.call('GET', '/api/admin/health', { token })
  expect(body.checks.backups).toBe('degraded')
})
