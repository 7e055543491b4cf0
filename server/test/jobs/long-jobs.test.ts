/** The list of long jobs: whose jobs a caller sees, their progress, entity tags, and cancellation. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, get as request } from 'node:http'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { SECOND } from '../../src/lib/clock.ts'
import { startTrackedJob, trackedJobsUpkeep } from '../../src/platform/jobs/index.ts'
import { SYSTEM } from '../../src/platform/journal/index.ts'
import { order } from '../backups/support.ts'
import { memoryStore, stalling, workOn } from '../backups/worker-scene.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { silentLog } from '../support/server-address.ts'
import { type CallOptions, openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

let service: Service
let root: Person
let north: Clinic
let south: Clinic

const JOBS = '/api/admin/jobs'

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
  south = await makeClinic(service, root, 'south')
})

beforeEach(async () => {
  await service.database.sql('delete from jobs')
  await service.database.sql('delete from backups')
})

const get = ({ token }: Person, path = '', options: CallOptions = {}) =>
  service.call('GET', `${JOBS}${path}`, { token, ...options })
const list = async (person: Person, query: Record<string, string | number> = {}) =>
  (await get(person, '', { query })).body.items as any[]
const cancel = ({ token }: Person, id: string) => service.call('DELETE', `${JOBS}/${id}`, { token })

/** Starts a tracked job of a clinic in this process. */
async function start({ id: tenant_id, people: { admin } }: Clinic) {
  const actor = { ...SYSTEM, user_id: admin.id, user_email: admin.email }
  const target = { kind: 'export', tenant_id, subject_id: null, actor }
  const job = await startTrackedJob({ db: service.app.db, log: silentLog }, target)
  onTestFinished(() => void job.end())
  return job
}

describe('the list of jobs', () => {
  it('has the jobs of the own clinic for an admin, and all jobs for a superadmin', async () => {
    const [ofNorth, ofSouth] = [await start(north), await start(south)]
    const full = await order(service, root, { type: 'full' })
    const seenBy = async (person: Person, query = {}) =>
      new Set((await list(person, query)).map(({ job_id }) => job_id))
    expect(await seenBy(north.people.admin)).toEqual(new Set([ofNorth.id]))
    expect(await seenBy(root)).toEqual(new Set([ofNorth.id, ofSouth.id, full.job_id]))
    expect(await seenBy(root, { tenant_id: south.id })).toEqual(new Set([ofSouth.id]))
    expect((await get(north.people.admin, `/${ofSouth.id}`)).status).toBe(404)
    expect((await get(north.people.admin, `/${full.job_id}`)).status).toBe(404)
  })

  it('has the export of a purged clinic as a job of the installation', async () => {
    const query = { tenant_id: 2 ** 31 }
    const { status } = await service.call('GET', '/api/admin/audit/export', {
      token: root.token,
      query,
    })
    expect(status).toBe(200)
    expect(await list(root)).toMatchObject([
      { kind: 'export', tenant_id: null, status: 'completed', created_by: root.id },
    ])
  })

  it('shows rotations, replays and backups with their requesters', async () => {
    const { admin } = north.people
    const { body: webhook } = await service.call('POST', '/api/webhooks/register', {
      token: admin.token,
      body: { url: 'http://127.0.0.1:9/', events: ['*'] },
    })
    await service.call('POST', `/api/webhooks/${webhook.id}/replay`, {
      token: admin.token,
      body: { since: new Date(service.clock.now() - 60 * SECOND).toISOString() },
    })
    const backup = await order(service, admin)
    await service.call('POST', '/api/admin/encryption/rotate', { token: root.token, body: {} })
    expect(await list(admin)).toMatchObject([
      {
        job_id: backup.job_id,
        kind: 'backup',
        subject_id: backup.backup_id,
        status: 'queued',
        created_by_email: admin.email,
        can_cancel: true,
      },
      {
        kind: 'replay',
        subject_id: String(webhook.id),
        status: 'running',
        phase: 'Queueing the events',
        created_by: admin.id,
        can_cancel: true,
      },
    ])
    expect(await list(root, { kind: 'rotation' })).toMatchObject([
      { status: 'running', tenant_id: null, created_by: root.id, can_cancel: false },
    ])
    await service.database.sql('delete from webhooks')
  })

  it('is filtered by status and kind, and divided into pages', async () => {
    const jobs = [await start(north), await start(north), await start(north)]
    await jobs[0]?.end()
    await jobs[1]?.end('It failed.')
    const { admin } = north.people
    const of = async (query: Record<string, string>) =>
      (await list(admin, query)).map(({ job_id }) => job_id)
    expect(await of({ status: 'running' })).toEqual([jobs[2]?.id])
    expect(await of({ status: 'failed' })).toEqual([jobs[1]?.id])
    expect(await of({ kind: 'restore' })).toEqual([])
    const first = (await get(admin, '', { query: { limit: 2 } })).body
    expect(first).toMatchObject({ total: 3, pages: 2 })
    const rest = (await get(admin, '', { query: { limit: 2, after: first.next } })).body
    const all = [...first.items, ...rest.items].map(({ job_id }: any) => job_id)
    expect(all.toSorted()).toEqual(jobs.map(({ id }) => id).toSorted())
  })
})

describe('the progress of a job', () => {
  it('is recorded within a second, with the rate of its work', async () => {
    const job = await start(north)
    job.report({ phase: 'Counting', done: 40, total: 90 })
    const shown = await until('the progress is recorded', async () => {
      service.clock.elapse(SECOND)
      const { body } = await get(north.people.admin, `/${job.id}`)
      return body.done === 40 ? body : undefined
    })
    expect(shown).toMatchObject({ status: 'running', phase: 'Counting', total: 90 })
    expect(shown.rate).toBeGreaterThan(0)
    await job.end()
    expect((await get(north.people.admin, `/${job.id}`)).body).toMatchObject({
      status: 'completed',
      done: 40,
      can_cancel: false,
    })
  })

  it('names the phase of a backup until the backup is completed', async () => {
    const { admin } = north.people
    const { job_id } = await order(service, admin)
    const shown = async () => (await get(admin, `/${job_id}`)).body
    const { store } = memoryStore()
    const written = Promise.withResolvers<void>()
    const write: typeof store.write = async (...given) => {
      await written.promise
      return memory(...given)
    }
    const memory = store.write
    await workOn(service, { ...store, write })
    await until('the phase is recorded', async () => (await shown()).phase ?? undefined)
    expect(await shown()).toMatchObject({ status: 'running', phase: 'Preparing', can_cancel: true })
    written.resolve()
    await until('the backup is completed', async () => (await shown()).finished_at ?? undefined)
    expect(await shown()).toMatchObject({ status: 'completed', phase: null, done: null })
  })

  it('ends as failed when the process of the job stops reporting', async () => {
    const [{ id }] = (await service.database.sql<{ id: string }>(
      `insert into jobs (tenant_id, kind, actor, seen_at)
       values ($1, 'export', '{}', now() - interval '31 seconds') returning id`,
      [north.id],
    )) as [{ id: string }]
    const expected = { status: 'failed', can_cancel: false, error: /process ended/ }
    const shown = async () => (await get(north.people.admin, `/${id}`)).body
    expect(await shown()).toMatchObject({
      ...expected,
      error: expect.stringMatching(expected.error),
    })
    expect((await cancel(north.people.admin, id)).status).toBe(409)
    await trackedJobsUpkeep(service.app.db).run()
    expect((await shown()).finished_at).not.toBeNull()
  })

  it('is deleted 30 days after the end of the job', async () => {
    const [job, recent] = [await start(north), await start(north)]
    await job.end()
    await recent.end()
    await service.database.sql(
      "update jobs set finished_at = now() - interval '31 days' where id = $1",
      [job.id],
    )
    await trackedJobsUpkeep(service.app.db).run()
    expect((await list(north.people.admin)).map(({ job_id }) => job_id)).toEqual([recent.id])
  })
})

describe('the entity tag of a response', () => {
  it('makes the next request cost no body while nothing changes', async () => {
    const { admin } = north.people
    const job = await start(north)
    await job.end()
    for (const path of ['', `/${job.id}`]) {
      const first = await get(admin, path)
      const etag = String(first.headers.etag)
      const again = await service.app.server.inject({
        url: `${JOBS}${path}`,
        headers: { authorization: `Bearer ${admin.token}`, 'if-none-match': etag },
      })
      expect(again).toMatchObject({ statusCode: 304, body: '' })
      expect(again.headers).toMatchObject({ etag, 'cache-control': 'no-store' })
      expect(again.headers['content-type']).toBeUndefined()
    }
  })

  it('changes with the job', async () => {
    const { admin } = north.people
    const job = await start(north)
    const { headers } = await get(admin, `/${job.id}`)
    await job.end()
    const next = await get(admin, `/${job.id}`, {
      headers: { 'if-none-match': String(headers.etag) },
    })
    expect(next).toMatchObject({ status: 200, body: { status: 'completed' } })
  })
})

describe('the cancellation of a job', () => {
  const journaled = async () =>
    service.database.sql<{ tenant_id: number; user_id: number; changes: object }>(
      `select tenant_id::int, user_id::int, changes from journal
       where action = 'job.cancelled' order by id desc limit 1`,
    )

  it('ends a queued backup at once, and journals who cancelled it', async () => {
    const { admin } = north.people
    const { job_id, backup_id } = await order(service, admin)
    expect((await cancel(admin, job_id)).status).toBe(204)
    expect((await get(admin, `/${job_id}`)).body).toMatchObject({
      status: 'cancelled',
      error: null,
      can_cancel: false,
    })
    expect(await journaled()).toEqual([
      { tenant_id: north.id, user_id: admin.id, changes: { kind: 'backup' } },
    ])
    const backups = await service.call('GET', '/api/admin/backup/list', { token: admin.token })
    expect(backups.body.items).toMatchObject([{ backup_id, status: 'failed' }])
    expect((await cancel(admin, job_id)).status).toBe(409)
    expect((await order(service, admin)).job_id).not.toBe(job_id)
  })

  it('stops a backup that is being written, and deletes its file', async () => {
    const { admin } = north.people
    const { write, begun } = stalling()
    const { store, files } = memoryStore(write)
    const { job_id } = await order(service, admin)
    await workOn(service, store)
    await begun
    expect((await cancel(admin, job_id)).status).toBe(204)
    await until('the job has ended', async () => {
      service.clock.elapse(SECOND)
      return (await get(admin, `/${job_id}`)).body.finished_at ?? undefined
    })
    expect((await get(admin, `/${job_id}`)).body.status).toBe('cancelled')
    expect(files.size).toBe(0)
    const failed = await service.database.sql(
      "select from journal where action = 'backup.failed' and tenant_id = $1",
      [north.id],
    )
    expect(failed).toEqual([])
  })

  it('is refused for a running restore, a rotation, and a job that has ended', async () => {
    const { admin } = north.people
    const { job_id } = await order(service, admin)
    await service.database.sql(
      "update backup_jobs set kind = 'restore', status = 'running' where id = $1",
      [job_id],
    )
    expect(await cancel(admin, job_id)).toMatchObject({
      status: 409,
      body: { code: 'job_not_cancellable' },
    })
    const [rotation] = await list(root, { kind: 'rotation' })
    expect((await cancel(root, rotation.job_id)).status).toBe(409)
    expect((await cancel(admin, randomUUID())).status).toBe(404)
  })

  it('is possible for a superadmin in every clinic, and for an admin only in their own', async () => {
    const job = await start(south)
    expect((await cancel(north.people.admin, job.id)).status).toBe(404)
    expect((await cancel(root, job.id)).status).toBe(204)
    service.clock.elapse(SECOND)
    await until('the process of the job knows', () => job.signal.aborted || undefined)
  })

  it('cancels a replay like its own operation', async () => {
    const { token } = south.people.admin
    const { body: webhook } = await service.call('POST', '/api/webhooks/register', {
      token,
      body: { url: 'http://127.0.0.1:9/', events: ['*'] },
    })
    const replay = { since: new Date(service.clock.now() - 60 * SECOND).toISOString() }
    await service.call('POST', `/api/webhooks/${webhook.id}/replay`, { token, body: replay })
    const [job] = await list(south.people.admin, { kind: 'replay' })
    expect((await cancel(root, job.job_id)).status).toBe(204)
    expect((await get(root, `/${job.job_id}`)).body.status).toBe('cancelled')
    expect((await cancel(south.people.admin, job.job_id)).status).toBe(409)
  })

  it('aborts the stream of an export, whose journal entry says so', async () => {
    const { admin } = north.people
    await service.database.sql(
      `insert into journal (tenant_id, action, resource_type, changes)
       select $1, 'department.updated', 'department', jsonb_build_object('text', repeat('x', 800))
       from generate_series(1, 30000)`,
      [north.id],
    )
    const address = await service.app.server.listen({ host: '127.0.0.1', port: 0 })
    const headers = { authorization: `Bearer ${admin.token}` }
    const asking = request(`${address}/api/admin/audit/export`, { headers })
    asking.on('error', () => undefined)
    const [response] = (await once(asking, 'response')) as [IncomingMessage]
    const [job] = await list(admin, { kind: 'export', status: 'running' })
    expect(job).toMatchObject({ unit: 'entries', created_by: admin.id })
    expect((await cancel(admin, job.job_id)).status).toBe(204)
    const failed = once(response, 'error')
    response.resume()
    service.clock.elapse(SECOND)
    await failed
    const aborted = await until('the end is journaled', async () => {
      const rows = await service.database.sql(
        "select from journal where action = 'audit.exported' and changes ->> 'state' = 'aborted'",
      )
      return rows.length > 0 || undefined
    })
    expect(aborted).toBe(true)
    expect((await get(admin, `/${job.job_id}`)).body.status).toBe('cancelled')
  })
})
