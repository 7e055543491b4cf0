/** No restore brings a purged clinic back, neither a restore in place nor a restore into an empty database. */
import { copyFile, cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { erasePurged } from '../../src/features/backups/erase/erase.ts'
import { readNotes } from '../../src/features/backups/erase/purge-notes.ts'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import { restoreBackupFile } from '../../src/open-features.ts'
import type { Logger } from '../../src/platform/observe/log.ts'
import { enrol } from '../second-factor/enrol.ts'
import { type Clinic, makeClinic, type Person, signIn, superadmin } from '../support/clinics.ts'
import { emptyDatabase } from '../support/database.ts'
import { scratch } from '../support/scratch.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, ROOT_KEY, type Service, SUPERADMIN } from '../support/service.ts'
import { until } from '../support/until.ts'
import {
  backupKeys,
  ended,
  fileOf,
  make,
  passMaintenance,
  purgeClinic,
  tablesWith,
} from './support.ts'

let service: Service
let root: Person
let north: Clinic
let south: Clinic
/** Backups made before the purge: a full backup, and a backup of the purged clinic. */
let full: string
let own: string
/** Another backup of that clinic. The database has no row for it, so only its files exist. */
let lost: string
let note: string
/** A folder that contains the files of the lost backup. */
let kept: string

const sql = <T = any>(text: string, values: unknown[] = []) =>
  service.database.sql<T & object>(text, values)
const storeIn = (dataDir: string) => folderStore(join(dataDir, 'backups'))
const call = (path: string, body: object) => service.call('POST', path, { token: root.token, body })

async function erase(store = storeIn(service.dataDir)): Promise<void> {
  const deps = { db: service.app.db, store, backupKeys: await backupKeys(), log: silentLog }
  await erasePurged(deps, new AbortController().signal)
}
const unerased = () => sql('select id::int from purged_tenants where erased_at is null')

beforeAll(async () => {
  service = await openService({ background: ['backups', 'jobs'] })
  root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
  south = await makeClinic(service, root, 'south')
  await enrol(service, north.people.doctor.token)
  const patient = { full_name: 'Paula Patient', department_id: north.departmentId }
  const { token } = north.people.admin
  expect((await service.call('POST', '/api/patients', { token, body: patient })).status).toBe(201)
  full = await make(service, root)
  own = await make(service, north.people.admin)
  lost = await make(service, north.people.admin)
  await sql('delete from backups where id = $1', [lost])
  kept = await scratch()
  for (const name of [`${lost}.json`, basename(fileOf(service, lost))])
    await copyFile(join(service.dataDir, 'backups', name), join(kept, name))
  await purgeClinic(service, north.id)
  note = join(service.dataDir, 'backups', `purged-${north.id}.json`)
})

describe('the backup store after the purge of a clinic', () => {
  test('gets the purge note once the store is available again, and loses the clinic’s own backups', async () => {
    const file = join(await scratch(), 'file')
    await writeFile(file, '')
    await expect(erase(folderStore(join(file, 'below')))).rejects.toThrow()
    expect(await unerased()).toEqual([{ id: north.id }])
    expect(await sql('select from backups where id = $1', [own])).toEqual([])
    for (const id of [own, lost]) await readFile(fileOf(service, id))
    await erase()
    expect(await unerased()).toEqual([])
    const names = await readdir(join(service.dataDir, 'backups'))
    expect(names.filter((name) => name.startsWith(own) || name.startsWith(lost))).toEqual([])
    expect(names).toContain(`${full}.tar.zst.age`)
    const { notes, disbelieved } = await readNotes(storeIn(service.dataDir), await backupKeys())
    expect(disbelieved).toEqual([])
    const [installation] = await sql('select id from installation')
    expect(notes).toEqual([
      { tenant_id: north.id, installation: installation.id, purged_at: expect.any(String) },
    ])
  })

  test('gets a valid purge note to replace an altered note', async () => {
    const true_ = await readFile(note, 'utf8')
    await writeFile(note, true_.replace('"purged_at":"20', '"purged_at":"19'))
    await sql('update purged_tenants set erased_at = null')
    await erase()
    expect(await readFile(note, 'utf8')).toBe(true_)
  })
})

describe('restoring in place after the purge of a clinic', () => {
  async function restore(body: object): Promise<any> {
    const answer = await call('/api/admin/backup/restore', { backup_id: full, ...body })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return answer.body.job_id
  }

  test('refuses to restore the clinic, and names the clinic in the error', async () => {
    const body = { backup_id: full, tenant_id: north.id, confirm: true }
    const answer = await call('/api/admin/backup/restore', body)
    expect(answer).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('was purged') },
    })
  })

  test.each([
    ['with the record in the database', undefined],
    ['with the note in the store, if the database has no record', 'delete from purged_tenants'],
  ])('restores everything else: %s', async (_, forget) => {
    if (forget) await sql(forget)
    const rehearsed = await ended(service, root, await restore({ dry_run: true }))
    expect(rehearsed.result).toMatchObject({ purged: [north.id], tables: { users: { added: 0 } } })
    await sql('update users set full_name = $2 where id = $1', [south.people.nurse.id, 'Since'])
    const job = await restore({ confirm: true })
    await passMaintenance(service, job)
    const row = await until('the restore to end', async () => {
      const [found] = await sql('select status, error, result from backup_jobs where id = $1', [
        job,
      ])
      return found.status === 'running' || found.status === 'queued' ? undefined : found
    })
    expect(row).toMatchObject({ status: 'completed', result: { purged: [north.id] } })
    expect(await tablesWith(service.database, north.id)).toEqual([])
    const [nurse] = await sql('select full_name from users where id = $1', [south.people.nurse.id])
    expect(nurse.full_name).toBe('nurse of south')
    const tokens = await until('the service to be open', () =>
      signIn(service, { ...SUPERADMIN, subdomain: 'platform' }).catch(() => undefined),
    )
    root = { ...root, token: tokens.access_token }
  })
})

test('adopt records purged tenants from their notes, and adopts none of their backups', async () => {
  await sql('delete from purged_tenants')
  await sql('delete from backups where id = $1', [full])
  const { adopted, refused } = await service.app.features.backups.commands.adopt()
  expect(adopted).toContain(full)
  expect(refused).toEqual([])
  expect(await sql('select id::int from purged_tenants')).toEqual([{ id: north.id }])
})

test('a backup of the clinic found later is not adopted, and is deleted once adopt has found it', async () => {
  await cp(kept, join(service.dataDir, 'backups'), { recursive: true })
  const { adopted, refused } = await service.app.features.backups.commands.adopt()
  expect(adopted).toEqual([])
  const reason = expect.stringContaining('was purged')
  expect(refused).toEqual([{ name: `${lost}.json`, reason }])
  expect(await unerased()).toEqual([{ id: north.id }])
  await erase()
  const names = await readdir(join(service.dataDir, 'backups'))
  expect(names.filter((name) => name.startsWith(lost))).toEqual([])
})

test('the database refuses manually inserted rows of the clinic, and a new clinic with the same ID', async () => {
  await expect(
    sql(`insert into tenants (id, name, subdomain) values ($1, 'North', 'again')`, [north.id]),
  ).rejects.toThrow('comes back from nowhere')
})

describe('restoring into an empty database after the purge of a clinic', () => {
  /** Restores into an empty database from a folder that contains only these files. */
  async function recover(...names: string[]) {
    const folder = await scratch()
    for (const name of names)
      await copyFile(join(service.dataDir, 'backups', name), join(folder, name))
    const database = await emptyDatabase()
    const told: unknown[][] = []
    const log: Logger = { ...silentLog, warn: (...line: unknown[]) => void told.push(line) }
    const restored = await restoreBackupFile(join(folder, `${full}.tar.zst.age`), {
      address: database.address,
      rootKeys: [ROOT_KEY],
      log,
      store: folderStore(await scratch()),
    })
    return { database, told, folder, ...restored }
  }
  const file = () => `${full}.tar.zst.age`
  const noteName = () => `purged-${north.id}.json`

  test('skips the clinic because of the note next to the file, and records the purge', async () => {
    const { database, purged } = await recover(file(), noteName())
    expect(purged).toEqual([north.id])
    expect(await tablesWith(database, north.id)).toEqual([])
    expect(await tablesWith(database, south.id)).toContain('users')
    const moved = await openService({ database })
    const { token } = await superadmin(moved)
    const { body } = await moved.call('GET', '/api/admin/tenants', { token })
    const ids = body.map(({ id }: { id: number }) => id)
    expect(new Set(ids)).toEqual(new Set([root.tenant_id, south.id]))
    // The restored service writes the purge note to its configured store again.
    expect(await database.sql('select id::int, erased_at from purged_tenants')).toEqual([
      { id: north.id, erased_at: null },
    ])
  })

  test('skips the clinic because of the note in the configured store', async () => {
    const database = await emptyDatabase()
    const alone = join(await scratch(), file())
    await copyFile(fileOf(service, full), alone)
    const { purged } = await restoreBackupFile(alone, {
      address: database.address,
      rootKeys: [ROOT_KEY],
      log: silentLog,
      store: storeIn(service.dataDir),
    })
    expect(purged).toEqual([north.id])
  })

  test('logs a forged note, and ignores it', async () => {
    const text = await readFile(note, 'utf8')
    try {
      await writeFile(
        note,
        text.replace(`"purged_tenant":${north.id}`, `"purged_tenant":${south.id}`),
      )
      const { database, purged, told } = await recover(file(), noteName())
      expect(purged).toEqual([])
      expect(JSON.stringify(told)).toContain('invalid record of a purged tenant')
      expect(await tablesWith(database, north.id)).toContain('users')
      expect(await tablesWith(database, south.id)).toContain('users')
    } finally {
      await writeFile(note, text)
    }
  })

  test("ignores a valid note stored under another clinic's name", async () => {
    const store = folderStore(await scratch())
    const other = `purged-${south.id}.json`
    await copyFile(note, join(store.place, other))
    expect(await readNotes(store, await backupKeys())).toEqual({
      notes: [],
      disbelieved: [{ name: other, reason: 'it belongs to another tenant' }],
    })
    await rm(join(store.place, other))
  })

  test('leaves the clinic out of a test restore, whose remaining rows are consistent and can be decrypted', async () => {
    const drilled = await service.app.features.backups.commands.drill(full, () => undefined)
    expect(drilled.drill_seconds).toBeGreaterThan(0)
  })
})
