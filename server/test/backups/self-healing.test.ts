/** Self-healing finds backup faults in the store and in the rows, reports them and repairs them. */
import { readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import { type OpenStore, StoreError } from '../../src/features/backups/stores/store.ts'
import { checkNext } from '../../src/features/backups/verify/verify-files.ts'
import { DAY } from '../../src/lib/clock.ts'
import type { Finding } from '../../src/platform/feature/fix.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { fixIn, scanAndConfirm } from '../support/self-healing-fixes.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'
import { alter, backupKeys, fileOf, make, readingOf } from './support.ts'

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

/** Returns the only finding of a fix. */
async function only(key: string): Promise<Finding> {
  const found = await fixIn(service, key).findings()
  expect(found).toHaveLength(1)
  return found[0] as Finding
}

describe('a missing backup file', () => {
  test("is reported to the backup's tenant, and the backup then counts as failed", async () => {
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
    expect(await failures(id)).toEqual([
      { tenant_id: clinic.id, error: 'The file of the backup is missing.' },
    ])
    expect(await missing.findings()).toEqual([])
    expect(await missing.repair(finding)).toBe('already gone')
  })

  test('is not marked as failed when all files are missing, because then the store is unavailable', async () => {
    const id = await make(service, root)
    const names = await readdir(folder())
    const kept = await Promise.all(
      names.map(async (name) => [name, await readFile(join(folder(), name))] as const),
    )
    for (const name of names) await rm(join(folder(), name))
    const missing = fixIn(service, 'backups.missing')
    const finding = (await missing.findings()).find(({ subject }) => subject.endsWith(id))
    await expect(missing.repair(finding as Finding)).rejects.toThrow('has no files at all')
    for (const [name, bytes] of kept) await writeFile(join(folder(), name), bytes)
    expect(await missing.findings()).toEqual([])
    expect(await missing.repair(finding as Finding)).toBe('already gone')
    expect((await rowOf(id)).status).toBe('completed')
  })
})

/** Verifies the backup whose last verification is oldest, as if two days had passed. */
async function check(store = folderStore(folder())): Promise<string | undefined> {
  const clock = { now: () => Date.now() + 2 * DAY }
  const deps = {
    db: service.app.db,
    store,
    backupKeys: await backupKeys(),
    reading: readingOf(service),
    clock,
    log: silentLog,
  }
  return checkNext(deps, new AbortController().signal)
}

test('verification detects a stored file that differs from the file that was written', async () => {
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
  // Checks that each backup was read once, and that no verification is due.
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

describe('a backup file that the store refuses to return', () => {
  /** Makes one backup due for verification, and makes the store refuse to return its file. */
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

  test('is recorded as refused, blocks no other verification, and is retried in its turn', async () => {
    const { id, store } = await refused()
    const read = await check(store)
    expect(read).toBeTruthy()
    expect(read).not.toBe(id)
    expect((await rowOf(id)).fault).toMatch(/did not hand it out/)
    // Does not ask an operator to give the backup up, because the file may be intact.
    expect(await fixIn(service, 'backups.damaged').findings()).toEqual([])
    expect((await rowOf(id)).verified_at).toMatch(/^2001/)
    await sql("update backups set checked_at = '2001-01-01' where id = $1", [id])
    expect(await check()).toBe(id)
    expect((await rowOf(id)).fault).toBeNull()
  })

  test('is not marked as faulty while the store is unavailable', async () => {
    const { id, store } = await refused()
    const away = async () => Promise.reject(new StoreError('the store is away'))
    await expect(check({ ...store, check: away })).rejects.toThrow('the store is away')
    expect(await rowOf(id)).toMatchObject({ fault: null, checked_at: null })
  })

  test('is not marked as faulty after an error in the service itself', async () => {
    const { id, store } = await refused()
    const read = () => {
      throw new TypeError('a bug')
    }
    await expect(check({ ...store, read })).rejects.toThrow('a bug')
    expect(await rowOf(id)).toMatchObject({ fault: null, checked_at: null })
  })
})

describe('a backup file without a database row', () => {
  /**
   * Makes a backup file without a row. It is old enough for the fix, but too new for the retention run, which may run
   * at the same time.
   */
  async function orphan(): Promise<string> {
    const id = await make(service, root)
    await sql('delete from backups where id = $1', [id])
    expect(await fixIn(service, 'backups.orphans').findings()).toEqual([])
    const then = new Date(Date.now() - 1.5 * DAY)
    for (const path of [fileOf(service, id), sidecarOf(id)]) await utimes(path, then, then)
    return id
  }

  test('gets a row if its list entry exists', async () => {
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

  test("is left alone if its name is not a backup's name", async () => {
    const path = join(folder(), `${'-'.repeat(36)}.tar.zst.age`)
    await writeFile(path, '')
    const then = new Date(Date.now() - 2 * DAY)
    await utimes(path, then, then)
    expect(await fixIn(service, 'backups.orphans').findings()).toEqual([])
    await rm(path)
  })
})
