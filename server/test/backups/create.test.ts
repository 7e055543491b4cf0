/** Access to backups, their contents, and how they complete or fail. */
import { createHash, randomUUID } from 'node:crypto'
import { chmod, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { backupsService } from '../../src/features/backups/backups.service.ts'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { contents, ended, fileOf, make, order, readingOf, unusedBy } from './support.ts'

let service: Service
let root: Person
let north: Clinic
let south: Clinic

beforeAll(async () => {
  service = await openService({ background: ['backups', 'jobs'] })
  root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
  south = await makeClinic(service, root, 'south')
})

const get = (path: string, { token }: Person, query = {}) =>
  service.call('GET', `/api/admin/backup/${path}`, { token, query })
const listed = async (person: Person) =>
  (await get('list', person)).body.items.map((backup: any) => backup.backup_id)

describe('a full backup', () => {
  let id: string
  beforeAll(async () => {
    id = await make(service, root)
  })

  test('is listed with its details once the whole file has been verified', async () => {
    const { items, total } = (await get('list', root)).body
    const backup = items.find(({ backup_id }: any) => backup_id === id)
    const file = await readFile(fileOf(service, id))
    expect(total).toBe(items.length)
    expect(backup).toMatchObject({
      type: 'full',
      tenant_id: null,
      status: 'completed',
      reason: 'request',
      size_bytes: file.length,
      sha256: createHash('sha256').update(file).digest('hex'),
      created_by: root.id,
      verified_at: expect.any(String),
    })
    expect(backup.records).toBeGreaterThan(10)
  })

  test('contains every row of every table that a restore restores', async () => {
    const { header, manifest, rowsOf } = await contents(fileOf(service, id))
    for (const { name } of header.tables) {
      const [row] = await service.database.sql<{ count: number }>(
        `select count(*)::int as count from ${name}`,
      )
      // The journal keeps growing, so rows written after the snapshot are not in the backup.
      expect(manifest.tables[name]?.rows, name).toBeLessThanOrEqual(row?.count ?? 0)
    }
    const emails = rowsOf('users').map(({ email }) => email)
    expect(emails).toContain('nurse@north.test')
    expect(emails).toContain('nurse@south.test')
    expect(rowsOf('tenants')).toHaveLength(3)
    expect(header.schema_version).toBe(header.migrations.at(-1)?.version)
  })

  test('contains no session, token, job or signing key', async () => {
    const { header } = await contents(fileOf(service, id))
    const names = header.tables.map(({ name }) => name)
    for (const name of ['sessions', 'refresh_tokens', 'account_tokens', 'signing_keys', 'backups'])
      expect(names).not.toContain(name)
  })

  test('contains no generated column', async () => {
    const { header } = await contents(fileOf(service, id))
    expect(header.tables.find(({ name }) => name === 'users')?.columns).not.toContain('search')
  })

  test('is stored with its list entry in a folder that only the service can read', async () => {
    const folder = join(service.dataDir, 'backups')
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    expect((await stat(fileOf(service, id))).mode & 0o777).toBe(0o600)
    const told = JSON.parse(await readFile(join(folder, `${id}.json`), 'utf8'))
    expect(told).toMatchObject({ backup_id: id, type: 'full', mac: expect.any(String) })
    expect((await readdir(folder)).filter((name) => name.endsWith('.part'))).toEqual([])
  })

  test('is not visible to admins', async () => {
    expect(await listed(north.people.admin)).not.toContain(id)
    expect((await get(`download/${id}`, north.people.admin)).status).toBe(404)
    const { token } = north.people.admin
    expect((await service.call('DELETE', `/api/admin/backup/${id}`, { token })).status).toBe(404)
  })

  test('is recorded in the journal, and so is each download of the backup', async () => {
    await service.app.server.inject({
      url: `/api/admin/backup/download/${id}`,
      headers: { authorization: `Bearer ${root.token}` },
    })
    const rows = await service.database.sql<{ action: string; tenant_id: number }>(
      "select action, tenant_id from journal where resource_type = 'backup' and resource_id = $1 order by id",
      [id],
    )
    expect(rows.map(({ action }) => action)).toEqual(['backup.created', 'backup.downloaded'])
    expect(new Set(rows.map(({ tenant_id }) => tenant_id))).toEqual(new Set([root.tenant_id]))
  })

  test('is recorded under the platform tenant when a superadmin of a clinic downloads it', async () => {
    const backups = backupsService({
      ...unusedBy(service),
      db: service.app.db,
      store: folderStore(join(service.dataDir, 'backups')),
      log: silentLog,
      wake: () => undefined,
      reading: readingOf(service),
    })
    const caller = { ...root, role: 'superadmin', tenant_id: north.id } as never
    await backups.download(caller, id, undefined)
    const [last] = await service.database.sql<{ action: string; tenant_id: number }>(
      'select action, tenant_id from journal where resource_id = $1 order by id desc limit 1',
      [id],
    )
    expect(last).toEqual({ action: 'backup.downloaded', tenant_id: root.tenant_id })
  })
})

describe("a tenant's backup", () => {
  let id: string
  beforeAll(async () => {
    id = await make(service, north.people.admin)
  })

  test('is the default for an admin, and contains no rows of other tenants', async () => {
    const { header, rowsOf } = await contents(fileOf(service, id))
    expect(header).toMatchObject({ type: 'tenant', tenant_id: north.id })
    expect(rowsOf('tenants').map((tenant) => tenant.id)).toEqual([String(north.id)])
    for (const { name, columns } of header.tables.filter((table) =>
      table.columns.includes('tenant_id'),
    )) {
      expect(columns).toContain('tenant_id')
      for (const row of rowsOf(name)) expect(row.tenant_id, name).toBe(String(north.id))
    }
    expect(rowsOf('users')).toHaveLength(5)
    expect(rowsOf('journal').length).toBeGreaterThan(5)
  })

  test("is visible to that tenant's admin and to superadmins, and to no other admin", async () => {
    expect(await listed(north.people.admin)).toContain(id)
    expect(await listed(root)).toContain(id)
    expect(await listed(south.people.admin)).not.toContain(id)
    expect((await get(`download/${id}`, south.people.admin)).status).toBe(404)
  })

  test('can be made of another clinic only by a superadmin', async () => {
    const body = { tenant_id: south.id }
    const { token } = north.people.admin
    const refused = await service.call('POST', '/api/admin/backup/create', { token, body })
    expect(refused.status).toBe(403)
    const other = await make(service, root, { type: 'tenant', ...body })
    expect(await listed(south.people.admin)).toContain(other)
  })
})

describe('a request to create a backup', () => {
  test('does not need a body', async () => {
    const { token } = north.people.admin
    const answer = await service.call('POST', '/api/admin/backup/create', { token })
    expect(answer.body).toMatchObject({ type: 'tenant', status: 'queued' })
    await ended(service, north.people.admin, answer.body.job_id)
  })

  test('succeeds for only one of sixteen concurrent callers, and does not block another clinic', async () => {
    const orders = await Promise.all(
      Array.from({ length: 16 }, () =>
        service.call('POST', '/api/admin/backup/create', {
          token: north.people.admin.token,
          body: {},
        }),
      ),
    )
    const other = await order(service, south.people.admin)
    const taken = orders.filter(({ status }) => status === 200)
    expect(taken).toHaveLength(1)
    expect(orders.filter(({ status }) => status === 409)).toHaveLength(15)
    await ended(service, north.people.admin, taken[0]?.body.job_id)
    await ended(service, south.people.admin, other.job_id)
  })
})

describe('an unknown or malformed backup ID', () => {
  test.each(['nothing', '..%2f..%2froot.key', '%2e%2e', randomUUID(), 'A'.repeat(150)])(
    'responds 404 to "%s"',
    async (id) => {
      const { token } = root
      expect((await get(`download/${id}`, root)).status).toBe(404)
      expect((await get(`status/${id}`, root)).status).toBe(404)
      expect((await service.call('DELETE', `/api/admin/backup/${id}`, { token })).status).toBe(404)
    },
  )
})

test.each(['nothing', randomUUID()])(
  'the 404 response for %s names the missing resource',
  async (id) => {
    const { token } = root
    const told = [
      await get(`download/${id}`, root),
      await service.call('DELETE', `/api/admin/backup/${id}`, { token }),
      await service.call('POST', '/api/admin/backup/restore', {
        token,
        body: { backup_id: id, confirm: true },
      }),
      await get(`status/${id}`, root),
    ].map(({ status, body }) => [status, body.detail])
    expect(told).toEqual([...Array(3).fill([404, 'No such backup']), [404, 'No such job']])
  },
)

describe('a backup download', () => {
  let id: string
  let file: Buffer
  beforeAll(async () => {
    id = await make(service, north.people.admin)
    file = await readFile(fileOf(service, id))
  })

  const download = (headers: Record<string, string> = {}, query = '') =>
    service.app.server.inject({
      url: `/api/admin/backup/download/${id}${query}`,
      headers: { authorization: `Bearer ${north.people.admin.token}`, ...headers },
    })

  test('returns the stored file with its length, name and ETag', async () => {
    const answer = await download()
    expect(answer.statusCode).toBe(200)
    expect(answer.rawPayload.equals(file)).toBe(true)
    expect(answer.headers).toMatchObject({
      'content-length': String(file.length),
      'content-disposition': `attachment; filename="${id}.tar.zst.age"`,
      etag: `"${createHash('sha256').update(file).digest('hex')}"`,
    })
  })

  test('resumes an interrupted download with a range request', async () => {
    const { headers } = await download()
    const rest = await download({ range: 'bytes=100-', 'if-range': String(headers.etag) })
    expect(rest.statusCode).toBe(206)
    expect(rest.rawPayload.equals(file.subarray(100))).toBe(true)
  })

  test('responds 404 if the ID is of a backup with another type', async () => {
    const other = await download({}, '?type=full')
    expect([other.statusCode, other.json().detail]).toEqual([
      404,
      'No backup of type full has this id',
    ])
    expect((await download({}, '?type=tenant')).statusCode).toBe(200)
    expect((await download({}, '?type=other')).statusCode).toBe(422)
  })

  test('reports that the file is missing', async () => {
    const lost = await make(service, south.people.admin)
    await rm(fileOf(service, lost))
    const answer = await get(`download/${lost}`, south.people.admin)
    expect(answer).toMatchObject({ status: 503, body: { code: 'backup_file_gone' } })
  })
})

describe('deleting a backup', () => {
  test('deletes the row, the file and the list entry', async () => {
    const id = await make(service, north.people.admin)
    const { token } = north.people.admin
    const answer = await service.call('DELETE', `/api/admin/backup/${id}`, { token })
    expect(answer).toMatchObject({ status: 200, body: { backup_id: id } })
    expect(await listed(north.people.admin)).not.toContain(id)
    // The files are deleted only after the transaction has committed.
    await until('both files to be gone', async () => {
      const left = await readdir(join(service.dataDir, 'backups'))
      return left.every((name) => !name.startsWith(id)) || undefined
    })
    expect((await service.call('DELETE', `/api/admin/backup/${id}`, { token })).status).toBe(404)
  })

  test('responds 409 for a pending backup, whose download also reports that it is pending', async () => {
    // This service runs no background work, so the backup stays pending.
    const idle = await openService()
    const operator = await superadmin(idle)
    const { backup_id } = await order(idle, operator)
    const answer = await idle.call('DELETE', `/api/admin/backup/${backup_id}`, {
      token: operator.token,
    })
    expect(answer).toMatchObject({ status: 409, body: { code: 'backup_in_use' } })
    const sent = await idle.call('GET', `/api/admin/backup/download/${backup_id}`, {
      token: operator.token,
    })
    expect(sent).toMatchObject({
      status: 404,
      body: { detail: expect.stringContaining('not completed') },
    })
  })
})

describe('a backup that fails', () => {
  test.skipIf(process.getuid?.() === 0)('records the reason, and leaves no file', async () => {
    const folder = join(service.dataDir, 'backups')
    await chmod(folder, 0o500)
    try {
      const { job_id } = await order(service, north.people.admin)
      const job = await ended(service, north.people.admin, job_id)
      expect(job).toMatchObject({ status: 'failed', error: expect.any(String) })
    } finally {
      await chmod(folder, 0o700)
    }
  })

  test('because its process was killed is marked as failed by the next process', async () => {
    const backup = randomUUID()
    const job = randomUUID()
    // Simulates a killed process: the row has the status running, but no connection holds the lock.
    await service.database.sql(
      `with made as (insert into backups (id, type, tenant_id, reason, status)
         values ('${backup}', 'tenant', $1, 'request', 'running'))
       insert into backup_jobs (id, backup_id, tenant_id, kind, actor, status, started_at)
       values ('${job}', '${backup}', $1, 'create',
         '{"user_id": null, "user_email": null, "origin": null}', 'running', now())`,
      [north.id],
    )
    const found = await ended(service, north.people.admin, job)
    expect(found.error).toMatch(/process ended before/)
    const [entry] = await service.database.sql<{ action: string }>(
      'select action from journal where resource_id = $1',
      [backup],
    )
    expect(entry?.action).toBe('backup.failed')
    // The failed job does not block the next backup.
    await make(service, north.people.admin)
  })
})

describe('a tenant that is unknown or deleted', () => {
  const order = (path: string, body: object) =>
    service.call('POST', `/api/admin/backup/${path}`, { token: root.token, body })

  test('cannot be backed up, whether it never existed or was deleted', async () => {
    const { id } = await makeClinic(service, root, 'closed')
    await service.call('DELETE', `/api/admin/tenants/${id}`, { token: root.token })
    for (const tenant_id of [id, 1_000_000_000])
      expect(await order('create', { type: 'tenant', tenant_id })).toMatchObject({
        status: 404,
        body: { detail: 'No such tenant', code: 'not_found' },
      })
  })

  test('cannot be restored from a backup while the tenant is deleted', async () => {
    const { id } = await makeClinic(service, root, 'shut')
    const backup_id = await make(service, root)
    await service.call('DELETE', `/api/admin/tenants/${id}`, { token: root.token })
    const refused = { type: 'tenant', tenant_id: id, backup_id, confirm: true }
    expect(await order('restore', refused)).toMatchObject({
      status: 409,
      body: { detail: expect.stringMatching(/deleted.*restore-tenant/) },
    })
  })
})
