/** Backups and exports read from a replica, or from the primary if the replica fails. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { type IncomingMessage, get as request } from 'node:http'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { fileName } from '../../src/features/backups/file/names.ts'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import { replicaClient } from '../../src/platform/db/connection.ts'
import { markFailure } from '../../src/platform/db/failures.ts'
import { openReplica, type ReplicaWork } from '../../src/platform/db/replica.ts'
import type { Logger } from '../../src/platform/observe/log.ts'
import { contents, fatten, fileOf, order } from '../backups/support.ts'
import { jobOf, workOn } from '../backups/worker-scene.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { databaseOn, migratedDatabase } from '../support/database.ts'
import { query } from '../support/embedded.ts'
import { scratch } from '../support/scratch.ts'
import { openService, type Service } from '../support/service.ts'
import { openSwitch, type TcpSwitch } from '../support/tcp-switch.ts'
import { startTwoServers, type TwoServers } from '../support/two-servers.ts'
import { until } from '../support/until.ts'

let servers: TwoServers
/** The address through which the service connects to the standby. */
let path: TcpSwitch
let service: Service
let address: string
let root: Person
let clinic: Clinic

beforeAll(async () => {
  servers = await startTwoServers()
  path = await openSwitch(servers.standby)
  service = await openService({
    database: databaseOn(servers.primary),
    config: { DATABASE_READ_URL: path.url },
  })
  address = await service.app.server.listen({ host: '127.0.0.1', port: 0 })
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
})

beforeEach(() => void service.logged.splice(0))

interface WorkLine {
  level: unknown
  message: unknown
  work?: string
  reason?: string
}

/** Returns the log lines about one kind of work. */
const linesOf = ({ logged }: Pick<Service, 'logged'>, work: string) =>
  logged
    .map(([level, fields, message]): WorkLine => ({ level, message, ...(fields as object) }))
    .filter((line) => line.work === work)

const addDepartment = async (name: string) => {
  const { token } = clinic.people.admin
  const answer = await service.call('POST', '/api/admin/departments', { token, body: { name } })
  expect(answer.status).toBe(201)
}

/** Stops the standby from replaying until the test ends. */
async function pauseReplay() {
  await query(servers.standby, 'select pg_wal_replay_pause()')
  onTestFinished(async () => {
    await query(servers.standby, 'select pg_wal_replay_resume()')
    await servers.replayed()
  })
}

/** Makes a backup in this process and waits for it. Returns its ID. */
const make = async (tenantId: number | null = null, by = service) =>
  (await by.app.features.backups.commands.create(tenantId, () => undefined)).backup_id

describe('a backup with a configured replica', () => {
  test('reads the replica once the replica has replayed earlier commits', async () => {
    await pauseReplay()
    await addDepartment('Committed before')
    const making = make()
    await until(
      'the job runs',
      () => service.logged.some(([, , message]) => message === 'backup job started') || undefined,
    )
    await query(servers.standby, 'select pg_wal_replay_resume()')
    const id = await making
    expect(linesOf(service, 'backup')).toEqual([
      { level: 'info', work: 'backup', message: 'reading from the replica' },
    ])
    const { header, rowsOf } = await contents(fileOf(service, id))
    expect(rowsOf('departments').map(({ name }) => name)).toContain('Committed before')
    const [job] = await service.database.sql<{ isLater: boolean }>(
      `select $2::timestamptz between started_at and finished_at as "isLater" from backup_jobs
       where backup_id = $1`,
      [id, header.created_at],
    )
    expect(job?.isLater).toBe(true)
  })

  test('contains only the rows of its tenant, and a full backup passes a drill', async () => {
    const own = await contents(fileOf(service, await make(clinic.id)))
    expect(own.rowsOf('tenants').map(({ id }) => id)).toEqual([String(clinic.id)])
    const id = await make()
    expect(linesOf(service, 'backup').map(({ message }) => message)).toEqual([
      'reading from the replica',
      'reading from the replica',
    ])
    const drilled = await service.app.features.backups.commands.drill(id, () => undefined)
    expect(drilled.drill_seconds).toBeGreaterThan(0)
  })

  test('reads the primary when the replica does not replay within 10 s', async () => {
    await pauseReplay()
    await addDepartment('Not replayed')
    const id = await make()
    const [line] = linesOf(service, 'backup')
    expect(line).toMatchObject({ level: 'warn', message: 'reading from the primary' })
    expect(line?.reason).toMatch(/^it is [1-9]\d* bytes behind$/)
    const { rowsOf } = await contents(fileOf(service, id))
    expect(rowsOf('departments').map(({ name }) => name)).toContain('Not replayed')
  })
})

/** Opens the replica with a log that the test can read. */
function replicaAt(url: string) {
  const logged: unknown[][] = []
  const at = (level: string) => (fields: unknown, message: unknown) =>
    void logged.push([level, fields, message])
  const log = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
  } as Logger
  const replica = openReplica({ url }, { db: service.app.db, log, clock: service.clock })
  onTestFinished(() => replica.close())
  return { replica, logged }
}

/** Begins a backup. Its store pauses in the middle of the first attempt. */
async function inTheMiddle() {
  const [reached, open] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  onTestFinished(() => open.resolve())
  const folder = await scratch()
  const store = folderStore(folder)
  async function* held(source: AsyncIterable<Uint8Array>) {
    for await (const piece of source) {
      reached.resolve()
      await open.promise
      yield piece
    }
  }
  let attempts = 0
  const write: typeof store.write = (name, source, signal) => {
    attempts += 1
    return store.write(name, attempts === 1 ? held(source) : source, signal)
  }
  const { replica, logged } = replicaAt(path.url)
  const { job_id, backup_id } = await order(service, root)
  const tables = ['tenants', 'users', 'journal']
  await workOn(service, { ...store, write }, { replica, tables })
  await reached.promise
  return {
    async completes() {
      open.resolve()
      const job = await until('the job ends', async () => {
        const now = await jobOf(service, job_id)
        return now?.status === 'running' ? undefined : now
      })
      expect(job).toEqual({ status: 'completed', error: null })
      const file = await readFile(join(folder, fileName(backup_id, null)))
      expect(await readdir(folder)).toHaveLength(2)
      const [backup] = await service.database.sql(
        'select size_bytes::int, sha256 from backups where id = $1',
        [backup_id],
      )
      expect(backup).toEqual({
        size_bytes: file.length,
        sha256: createHash('sha256').update(file).digest('hex'),
      })
      expect(linesOf({ logged }, 'backup').map(({ level, message }) => [level, message])).toEqual([
        ['info', 'reading from the replica'],
        ['warn', 'replica read failed; reading from the primary'],
      ])
    },
  }
}

/** Starts an export and reads nothing of its body. */
async function openExport(): Promise<IncomingMessage> {
  const url = `${address}/api/admin/audit/export?format=ndjson`
  const asking = request(url, { headers: { authorization: `Bearer ${root.token}` } })
  asking.on('error', () => undefined)
  onTestFinished(() => void asking.destroy())
  const [response] = (await once(asking, 'response')) as [IncomingMessage]
  return response
}

/** Returns the IDs of the entries of an export, in its order. */
async function idsOf(response: IncomingMessage): Promise<number[]> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line).id)
}

/** Returns the IDs of the entries from before the newest export, latest first. */
const expected = async () =>
  (
    await service.database.sql<{ id: number }>(
      `select id::int from journal where (created_at, id) < (
         select created_at, id from journal where changes ->> 'state' = 'started'
         order by id desc limit 1) order by created_at desc, id desc`,
    )
  ).map(({ id }) => id)

describe('after a replica fails during a long read,', () => {
  // Creates more data than all buffers on the way can hold.
  beforeAll(async () => {
    for (let part = 0; part < 20; part += 1) await fatten(service.database, clinic.id)
    await servers.replayed()
  })

  test('a backup starts again on the primary if the replica is lost', async () => {
    const backup = await inTheMiddle()
    path.point(servers.standby)
    await backup.completes()
  })

  test('a backup starts again on the primary if the read conflicts with replay on the replica', async () => {
    const backup = await inTheMiddle()
    await query(servers.standby, 'alter system set max_standby_streaming_delay = 0')
    await query(servers.standby, 'select pg_reload_conf()')
    onTestFinished(async () => {
      await query(servers.standby, 'alter system reset max_standby_streaming_delay')
      await query(servers.standby, 'select pg_reload_conf()')
    })
    const tables = 'tenants, users, journal'
    await query(servers.primary, `begin; lock table ${tables} in access exclusive mode; commit`)
    await backup.completes()
  })

  test('an export continues on the primary if the replica is lost', async () => {
    await addDepartment('Committed before the export')
    const response = await openExport()
    path.point(servers.standby)
    expect(await idsOf(response)).toEqual(await expected())
    expect(linesOf(service, 'audit export').map(({ level, message }) => [level, message])).toEqual([
      ['info', 'reading from the replica'],
      ['warn', 'replica read failed; reading from the primary'],
    ])
    // An `err` field in the line would count as an outage of the primary.
    expect(linesOf(service, 'audit export')[1]).toMatchObject({ reason: expect.any(String) })
    expect(linesOf(service, 'audit export')[1]).not.toHaveProperty('err')
  })
})

test('an export reads the primary when the replica does not replay within 2 s', async () => {
  await pauseReplay()
  await addDepartment('Not replayed before the export')
  expect(await idsOf(await openExport())).toEqual(await expected())
  expect(linesOf(service, 'audit export')).toEqual([
    {
      level: 'warn',
      work: 'audit export',
      message: 'reading from the primary',
      reason: expect.stringMatching(/bytes behind$/),
    },
  ])
})

describe('a replica of the database', () => {
  const work: ReplicaWork = { name: 'test', waitMs: 5_000, readBeginning: async () => 1 }
  const open = async (url: string, others: Partial<ReplicaWork> = {}) => {
    const { replica, logged } = replicaAt(url)
    const standby = await replica.open({ ...work, ...others })
    await standby?.close()
    const [line] = linesOf({ logged }, 'test')
    return { standby, line, replica }
  }

  test('is not used if it belongs to another cluster or is another database', async () => {
    const other = await migratedDatabase()
    expect((await open(other.url)).line?.reason).toBe('it belongs to another cluster')
    const template = new URL(path.url)
    template.pathname = '/template1'
    const { line, replica } = await open(template.href)
    // All databases of the server share their roles, so the connection itself succeeds.
    expect(line?.reason).toBe('it is another database of the cluster')
    expect(replica.failingSince()).not.toBeNull()
  })

  test('is not used if it lacks a required log position, like a standby of a former primary', async () => {
    let reads = 0
    const readBeginning = async () => (reads += 1)
    const { standby, line } = await open(path.url, { readBeginning, waitMs: 2_000 })
    expect([standby, line?.level]).toEqual([undefined, 'warn'])
    expect(line?.reason).toMatch(/^it does not contain the start of the work/)
  })

  test('may be the primary itself, which is used without a warning', async () => {
    const primary = await openSwitch(servers.primary)
    const { standby, line, replica } = await open(primary.url)
    expect([standby, line?.level, line?.reason]).toEqual([undefined, 'info', 'it is a primary'])
    expect(replica.failingSince()).toBeNull()
  })

  test('cannot be written to through its connections, even if it is a primary', async () => {
    const primary = await openSwitch(servers.primary)
    const client = replicaClient({ url: primary.url })
    await client.connect()
    onTestFinished(() => client.end())
    await expect(client.query('delete from journal')).rejects.toThrow('read-only transaction')
  })

  test('stays in use after failures of other systems, such as the backup store', async () => {
    const { standby, line } = await open(path.url)
    const lost = (error: Error) => Object.assign(error, { code: 'ECONNRESET' })
    const ofStorage = lost(new Error('storage'))
    expect(() => standby?.giveUp(ofStorage)).toThrow(ofStorage)
    standby?.giveUp(markFailure(lost(new Error('replica'))))
    expect(line?.message).toBe('reading from the replica')
  })

  test('makes the health report degraded while it is unreachable, and nothing else fails', async () => {
    onTestFinished(() => path.point(servers.standby))
    path.point({ ...servers.standby, host: '/nowhere' })
    const other = await openService({
      database: service.database,
      config: { DATABASE_READ_URL: path.url },
    })
    const component = async (state: string) => {
      const { body } = await other.call('GET', '/api/admin/health', { token: root.token })
      const found = body.components.find(({ name }: any) => name === 'replica')
      return found.state === state ? found : undefined
    }
    const { since, reason } = await until('it is degraded', () => component('degraded'))
    expect([typeof since, reason]).toEqual(['string', expect.stringContaining('is not usable')])
    await make(null, other)
    expect(linesOf(other, 'backup')).toMatchObject([{ message: 'reading from the primary' }])
    path.point(servers.standby)
    await make(clinic.id, other)
    expect(await component('ok')).toMatchObject({ since: null, reason: null })
  })
})
