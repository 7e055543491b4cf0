/** The faults of backups: seen in the store and in the rows, told of and mended. */
import { readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { checkNext } from '../../src/features/backups/fixes/check.ts'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import { type OpenStore, StoreError } from '../../src/features/backups/stores/store.ts'
import { DAY, SECOND } from '../../src/lib/clock.ts'
import { parseCron } from '../../src/lib/cron.ts'
import { LOCKS, ownerClient } from '../../src/platform/db/index.ts'
import type { Finding } from '../../src/platform/fix.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { fixIn, scanAndConfirm } from '../support/fixes.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'
import { passWaits } from '../support/time.ts'
import { alter, fileOf, keeper, make, order, readingOf } from './support.ts'

let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  service = await openService({ background: ['backups', 'jobs'] })
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
})

const sql: Service['database']['sql'] = (...asked) => service.database.sql(...asked)
const folder = () => join(service.dataDir, 'backups')
const sidecarOf = (id: string) => join(folder(), `${id}.json`)
const rowOf = async (id: string) => (await sql<any>('select * from backups where id = $1', [id]))[0]
const failures = (id: string) =>
  sql(
    `select tenant_id, changes ->> 'error' as error from journal
     where action = 'backup.failed' and resource_id = $1`,
    [id],
  )

/** The one finding of a fix. */
async function only(key: string): Promise<Finding> {
  const found = await fixIn(service, key).findings()
  expect(found).toHaveLength(1)
  return found[0] as Finding
}

describe('a file that is gone', () => {
  test('is told of to its tenant, and then counts as failed', async () => {
    const id = await make(service, clinic.people.admin)
    const missing = fixIn(service, 'backups.missing')
    expect(await missing.findings()).toEqual([])
    await make(service, root)
    await rm(fileOf(service, id))
    const finding = await only('backups.missing')
    expect(finding).toMatchObject({
      tenant_id: clinic.id,
      subject: `backup ${id}`,
      measured: { file: 'gone', type: 'tenant' },
    })
    expect(await scanAndConfirm(service, 'backups.missing')).toMatchObject([finding])
    expect(await rowOf(id)).toMatchObject({ status: 'failed', verified_at: null })
    expect(await failures(id)).toEqual([{ tenant_id: clinic.id, error: 'Its file is gone.' }])
    expect(await missing.findings()).toEqual([])
    expect(await missing.repair(finding)).toBe('already gone')
  })

  test('with all others is a store that is away: nothing is given up', async () => {
    const id = await make(service, root)
    const names = await readdir(folder())
    const kept = await Promise.all(
      names.map(async (name) => [name, await readFile(join(folder(), name))] as const),
    )
    for (const name of names) await rm(join(folder(), name))
    const missing = fixIn(service, 'backups.missing')
    const finding = (await missing.findings()).find(({ subject }) => subject.endsWith(id))
    await expect(missing.repair(finding as Finding)).rejects.toThrow('holds no file at all')
    for (const [name, bytes] of kept) await writeFile(join(folder(), name), bytes)
    expect(await missing.findings()).toEqual([])
    expect(await missing.repair(finding as Finding)).toBe('already gone')
    expect((await rowOf(id)).status).toBe('completed')
  })
})

/** Reads the backup again that was read longest ago, two days from now. */
async function check(store = folderStore(folder())): Promise<string | undefined> {
  const clock = { now: () => Date.now() + 2 * DAY }
  const deps = {
    db: service.app.db,
    store,
    keeper: await keeper(),
    reading: readingOf(service),
    clock,
    log: silentLog,
  }
  return checkNext(deps, new AbortController().signal)
}

test('a file that is not as it was written is found when it is read again', async () => {
  const id = await make(service, clinic.people.admin)
  const damaged = fixIn(service, 'backups.damaged')
  await alter(fileOf(service, id))
  const [{ there = 0 } = {}] = await sql<{ there: number }>(
    "select count(*) as there from backups where status = 'completed'",
  )
  const read = new Set<string | undefined>()
  for (let turn = 0; turn < there; turn += 1) {
    read.add(await check())
    await sql("update backups set checked_at = checked_at + interval '3 days'")
    await sql(
      "update backups set verified_at = verified_at + interval '3 days' where checked_at is not null",
    )
  }
  // Each had its turn, and none is due.
  expect([read.size, await check()]).toEqual([there, undefined])
  const finding = await only('backups.damaged')
  expect(finding).toMatchObject({ tenant_id: clinic.id, subject: `backup ${id}` })
  expect(finding.measured.fault).toBeTruthy()
  expect((await rowOf(id)).verified_at).toBeNull()
  expect(await scanAndConfirm(service, 'backups.damaged')).toMatchObject([finding])
  expect((await rowOf(id)).status).toBe('failed')
  expect(await failures(id)).toHaveLength(1)
  expect(await damaged.findings()).toEqual([])
  expect(await damaged.repair(finding)).toBe('already gone')
})

describe('a file that the store does not hand out', () => {
  /** The next in the row, which alone the store refuses. */
  async function refused() {
    await make(service, root)
    const id = await make(service, clinic.people.admin)
    await sql("update backups set checked_at = null, verified_at = '2001-01-01' where id = $1", [
      id,
    ])
    const store = folderStore(folder())
    const read: OpenStore['read'] = (name, range) => {
      if (name.startsWith(id)) throw new StoreError('the object is archived')
      return store.read(name, range)
    }
    return { id, store: { ...store, read } }
  }

  test('is noted, keeps no other from being read, and has its turn again', async () => {
    const { id, store } = await refused()
    const read = await check(store)
    expect(read).toBeTruthy()
    expect(read).not.toBe(id)
    const finding = await only('backups.unreadable')
    expect(finding).toMatchObject({ subject: `backup ${id}` })
    expect(finding.measured.fault).toMatch(/did not hand it out/)
    // It may be whole: nobody is asked to give it up.
    expect(await fixIn(service, 'backups.damaged').findings()).toEqual([])
    expect((await rowOf(id)).verified_at).toMatch(/^2001/)
    await sql("update backups set checked_at = '2001-01-01' where id = $1", [id])
    expect(await check()).toBe(id)
    expect(await fixIn(service, 'backups.unreadable').findings()).toEqual([])
  })

  test('is not at fault where the store is away', async () => {
    const { id, store } = await refused()
    const away = async () => Promise.reject(new StoreError('the store is away'))
    await expect(check({ ...store, check: away })).rejects.toThrow('the store is away')
    expect(await rowOf(id)).toMatchObject({ fault: null, checked_at: null })
  })

  test('is not at fault where the service is', async () => {
    const { id, store } = await refused()
    const read = () => {
      throw new TypeError('a bug')
    }
    await expect(check({ ...store, read })).rejects.toThrow('a bug')
    expect(await rowOf(id)).toMatchObject({ fault: null, checked_at: null })
  })
})

describe('a file that no entry tells of', () => {
  /** A backup that lost its entry: old enough for the fix, and too young for the retention, which runs meanwhile. */
  async function orphan(): Promise<string> {
    const id = await make(service, root)
    await sql('delete from backups where id = $1', [id])
    expect(await fixIn(service, 'backups.orphans').findings()).toEqual([])
    const then = new Date(Date.now() - 1.5 * DAY)
    for (const path of [fileOf(service, id), sidecarOf(id)]) await utimes(path, then, then)
    return id
  }

  test('is entered where its list entry is there', async () => {
    const id = await orphan()
    const finding = await only('backups.orphans')
    expect(finding).toMatchObject({
      tenant_id: null,
      subject: `files ${id}`,
      measured: { file: true, list_entry: true },
    })
    expect(await scanAndConfirm(service, 'backups.orphans')).toMatchObject([finding])
    expect(await rowOf(id)).toMatchObject({ status: 'completed', type: 'full' })
    expect(await fixIn(service, 'backups.orphans').findings()).toEqual([])
    expect(await fixIn(service, 'backups.orphans').repair(finding)).toBe('already gone')
  })

  test.each([
    ['a file without its list entry', sidecarOf],
    ['a list entry without its file', (id: string) => fileOf(service, id)],
  ])('is deleted: %s', async (_, lost) => {
    const id = await orphan()
    await rm(lost(id))
    const finding = await only('backups.orphans')
    expect(await fixIn(service, 'backups.orphans').repair(finding)).toBe('repaired')
    expect((await readdir(folder())).filter((name) => name.startsWith(id))).toEqual([])
    expect(await fixIn(service, 'backups.orphans').findings()).toEqual([])
  })

  test('is let alone where it is no backup by its name', async () => {
    const path = join(folder(), `${'-'.repeat(36)}.tar.zst.age`)
    await writeFile(path, '')
    const then = new Date(Date.now() - 2 * DAY)
    await utimes(path, then, then)
    expect(await fixIn(service, 'backups.orphans').findings()).toEqual([])
    await rm(path)
  })
})

test('that nothing was proven for two intervals is told of, and a new installation has time', async () => {
  const config = { BACKUP_SCHEDULE: parseCron('30 2 * * *') }
  const fresh = await openService({ config })
  const unproven = fixIn(fresh, 'backups.unproven')
  expect(await unproven.findings()).toEqual([])
  fresh.clock.advance(3 * DAY)
  expect(await unproven.findings()).toMatchObject([
    { tenant_id: null, measured: { newest_proven: null } },
  ])
  fresh.clock.advance(-3 * DAY)
  expect(await unproven.findings()).toEqual([])
})

test('a job that nobody is at is ended, and one that somebody is at is left alone', async () => {
  const api = await openService()
  const person = await superadmin(api)
  const { job_id, backup_id } = await order(api, person)
  const stuck = fixIn(api, 'backups.stuck')
  expect(await stuck.findings()).toEqual([])
  const [{ number = 0 } = {}] = await api.database.sql<{ number: number }>(
    `update backup_jobs set status = 'running', started_at = now() - interval '5 minutes'
     where id = $1 returning number`,
    [job_id],
  )
  const worker = ownerClient(api.database.address)
  await worker.connect()
  onTestFinished(() => worker.end())
  await worker.query('select pg_advisory_lock($1, $2)', [LOCKS.longJobs, number])
  expect(await stuck.look()).toMatchObject({ findings: [] })
  await worker.query('select pg_advisory_unlock($1, $2)', [LOCKS.longJobs, number])
  // The check watches the job for four seconds, because a worker would end it in that time.
  const passed = <T>(work: Promise<T>) => passWaits(api.clock, 4 * SECOND, work)
  const [finding] = await passed(stuck.findings())
  expect(finding).toMatchObject({ subject: `job ${job_id}`, measured: { kind: 'create' } })
  expect(await passed(scanAndConfirm(api, 'backups.stuck'))).toHaveLength(1)
  expect(
    await api.database.sql(
      'select j.status as job, b.status as backup from backup_jobs j join backups b on b.id = backup_id where b.id = $1',
      [backup_id],
    ),
  ).toEqual([{ job: 'failed', backup: 'failed' }])
  expect(await stuck.findings()).toEqual([])
  expect(await stuck.repair(finding as Finding)).toBe('already gone')
})

test('a safety backup whose restore has died is ended, and a younger one is left alone', async () => {
  const stuck = fixIn(service, 'backups.stuck')
  const [{ id = '' } = {}] = await sql<{ id: string }>(
    `insert into backups (id, type, tenant_id, reason)
     values (gen_random_uuid(), 'tenant', $1, 'safety') returning id`,
    [clinic.id],
  )
  expect(await stuck.findings()).toEqual([])
  await sql("update backups set created_at = now() - interval '2 hours' where id = $1", [id])
  const finding = await only('backups.stuck')
  expect(finding).toMatchObject({ tenant_id: clinic.id, subject: `backup ${id}` })
  expect(await stuck.repair(finding)).toBe('repaired')
  expect((await rowOf(id)).status).toBe('failed')
  expect(await failures(id)).toHaveLength(1)
  expect(await stuck.findings()).toEqual([])
  expect(await stuck.repair(finding)).toBe('already gone')
})
