/** `wardkeep backup forget-tenant`: removes a purged clinic from older backups, even if a process is killed. */
import { createHash } from 'node:crypto'
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { saveDrill, saveVerified } from '../../src/features/backups/drill/drill.store.ts'
import { findFiled, saveRewritten } from '../../src/features/backups/erase/erase.store.ts'
import { rewrite } from '../../src/features/backups/erase/rewrite.ts'
import { writeSigned } from '../../src/features/backups/file/signed-text.ts'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import { restoreBackupFile } from '../../src/open-features.ts'
import { runCommand } from '../docs/command.ts'
import { type Clinic, makeClinic, superadmin } from '../support/clinics.ts'
import { emptyDatabase } from '../support/database.ts'
import { command } from '../support/process.ts'
import { scratch } from '../support/scratch.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, ROOT_KEY, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { alter, backupKeys, contents, purgeClinic, readingOf, tablesWith } from './support.ts'

let service: Service
let north: Clinic
let folder: string
/** A backup made before the purge, and its files. Each test gets a new one. */
let id: string
let kept: string

const sql = <T = any>(text: string, values: unknown[] = []) =>
  service.database.sql<T & object>(text, values)
const commands = () => service.app.features.backups.commands
const forget = () => commands().forgetTenant(north.id, () => undefined)
const ENV = () => ({
  DATABASE_URL: service.database.url,
  ENCRYPTION_KEY: ROOT_KEY.toString('base64'),
  DATA_DIR: service.dataDir,
})
const files = async () => (await readdir(folder)).filter((name) => name.endsWith('.age'))
const rowOf = async (backup = id) => (await sql('select * from backups where id = $1', [backup]))[0]
const entryOf = async (backup = id) =>
  JSON.parse(await readFile(join(folder, `${backup}.json`), 'utf8'))

beforeAll(async () => {
  service = await openService()
  folder = join(service.dataDir, 'backups')
  const root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
  await makeClinic(service, root, 'south')
  id = (await commands().create(null, () => undefined)).backup_id
  kept = join(service.dataDir, 'kept')
  await cp(folder, kept, { recursive: true })
  await purgeClinic(service, north.id)
})

beforeEach(async () => {
  await sql('delete from backups')
  await rm(folder, { recursive: true })
  await cp(kept, folder, { recursive: true })
  expect((await commands().adopt()).adopted).toEqual([id])
})

/** Expects that the backup list and the database name the same file, and that this file is intact. */
async function expectWhole(): Promise<void> {
  const fileOf = (rewritten: string | null | undefined) =>
    join(
      folder,
      rewritten ? `${id}.${rewritten.replace(/\D/g, '')}.tar.zst.age` : `${id}.tar.zst.age`,
    )
  const row = await rowOf()
  for (const { rewritten_at, sha256 } of [row, await entryOf()]) {
    const bytes = await readFile(fileOf(rewritten_at))
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256)
    await contents(fileOf(rewritten_at))
  }
}

test('rewriting a backup keeps its ID, and leaves out the rows of the clinic', async () => {
  const before = await rowOf()
  expect(await forget()).toEqual({ tenant_id: north.id, rewritten: [id], earlier: [], left: [] })
  const after = await rowOf()
  expect(after).toMatchObject({
    created_at: before.created_at,
    rewritten_at: expect.any(String),
    forgotten: [String(north.id)],
    verified_at: expect.any(String),
  })
  expect(after.records).toBeLessThan(before.records)
  const [name = '', ...others] = await files()
  expect(others).toEqual([])
  await expectWhole()
  const { header, rowsOf } = await contents(join(folder, name))
  expect(header).toMatchObject({ backup_id: id, forgotten: [north.id] })
  for (const { name: table } of header.tables.filter(({ name: one }) => !one.startsWith('journal')))
    expect(
      rowsOf(table).filter(({ tenant_id }) => tenant_id === String(north.id)),
      table,
    ).toEqual([])
  expect(rowsOf('tenants').map((tenant) => tenant.subdomain)).toEqual(['platform', 'south'])
  const entries = await sql("select changes from journal where action = 'backup.rewritten'")
  expect(entries).toMatchObject([{ changes: { forgotten: [north.id], records: after.records } }])
  expect(await entryOf()).toMatchObject({ sha256: after.sha256, rewritten_at: after.rewritten_at })
})

test('a rewritten backup is listed, verified, adopted, restored and deleted like any other', async () => {
  await forget()
  const [name = ''] = await files()
  expect(await commands().verify(id, () => undefined)).toMatchObject({ backup_id: id })
  const database = await emptyDatabase()
  const file = join(folder, name)
  // The restore needs no purge note, because the file contains no row of the clinic.
  const { purged } = await restoreBackupFile(file, {
    address: database.address,
    rootKeys: [ROOT_KEY],
    log: silentLog,
    store: folderStore(await scratch()),
  })
  expect(purged).toEqual([])
  expect(await tablesWith(database, north.id)).toEqual([])
  const before = await rowOf()
  await sql('delete from backups')
  expect((await commands().adopt()).adopted).toEqual([id])
  const { verified_at: _, checked_at: __, ...same } = before
  expect(await rowOf()).toMatchObject({ ...same, created_at: expect.any(String) })
  const { token } = await superadmin(service)
  const path = `/api/admin/backup/${id}`
  const download = await service.call('GET', `/api/admin/backup/download/${id}`, { token })
  expect(download).toMatchObject({
    status: 200,
    headers: { 'content-length': String(before.size_bytes) },
  })
  expect((await service.call('DELETE', path, { token })).status).toBe(200)
  await until('the file to be gone', async () => (await files()).length === 0 || undefined)
})

test('backup forget-tenant lists each backup, can be repeated, and refuses a tenant that is not purged', async () => {
  const ended = await runCommand(['backup', 'forget-tenant', String(north.id)], ENV())
  expect(ended).toMatchObject({ code: 0, stdout: `${id} was rewritten without the tenant.\n` })
  expect(ended.stderr).toMatch(/^(rewritten: \d+ %\n)+$/)
  expect(await forget()).toMatchObject({ rewritten: [], earlier: [id], left: [] })
  await expect(commands().forgetTenant(1, () => undefined)).rejects.toThrow('is not purged')
})

describe('backups that cannot be rewritten', () => {
  test('stay unchanged and are reported if they are damaged, with exit code 1', async () => {
    await alter(join(folder, `${id}.tar.zst.age`))
    const before = await rowOf()
    const ended = await runCommand(['backup', 'forget-tenant', String(north.id)], ENV())
    expect(ended).toMatchObject({ code: 1, stdout: 'No backup was rewritten.\n' })
    expect(ended.stderr).toContain(
      `${id} may still contain the tenant: The backup file is not usable: `,
    )
    expect(await rowOf()).toEqual(before)
    expect(await files()).toEqual([`${id}.tar.zst.age`])
  })

  test('are reported if they are missing, unknown to the database or use another root key', async () => {
    const [other, unknown] = [crypto.randomUUID(), crypto.randomUUID()]
    await writeFile(join(folder, `${other}.json`), JSON.stringify({ backup_id: other, mac: 'ab' }))
    const entry = await readFile(join(folder, `${id}.json`))
    await writeFile(join(folder, `${unknown}.json`), entry)
    await rm(join(folder, `${id}.tar.zst.age`))
    const { left } = await forget()
    expect(left.map(({ backup_id }) => backup_id).sort()).toEqual([id, other, unknown].sort())
    const why = new Map(left.map(({ backup_id, reason }) => [backup_id, reason]))
    expect(why.get(other)).toMatch(/root key/)
    expect(why.get(unknown)).toMatch(/adopt/)
    expect(why.get(id)).toMatch(/missing/)
  })
})

test('a backup is reported if its file lacks a row or a list entry, and the command exits with code 1', async () => {
  const lost = crypto.randomUUID()
  await cp(join(kept, `${id}.tar.zst.age`), join(folder, `${lost}.tar.zst.age`))
  const ended = await runCommand(['backup', 'forget-tenant', String(north.id)], ENV())
  expect(ended).toMatchObject({ code: 1, stdout: `${id} was rewritten without the tenant.\n` })
  expect(ended.stderr).toContain(`${lost} may still contain the tenant: its contents are unknown`)
})

/** The start time of a job whose process was killed. */
const BEGUN = '2026-11-23T01:02:03.004Z'

describe('a crash during the rewrite of a backup leaves the old or the new file intact', () => {
  const store = () => folderStore(folder)
  const { signal } = new AbortController()

  /** Creates the state that an interrupted job leaves: a new file and, if `isNamed`, a row that names it. */
  async function halfway(isNamed: boolean): Promise<void> {
    const deps = { store: store(), backupKeys: await backupKeys() }
    const backup = await service.app.db.acrossTenants((tx) => findFiled(tx, id), 'read')
    if (!backup) throw new Error('the backup is gone')
    const wanted = { rewritten_at: BEGUN, forgotten: [north.id] }
    const made = await rewrite(backup, wanted, deps, { signal, progress: () => undefined })
    if (isNamed) await service.app.db.acrossTenants((tx) => saveRewritten(tx, id, made))
    expect(await files()).toHaveLength(2)
    await expectWhole()
  }

  test('before the database names the new file; the next run deletes the new file and repeats the job', async () => {
    await halfway(false)
    await sql(
      `insert into backup_jobs (id, backup_id, kind, status, started_at, actor)
       values (gen_random_uuid(), $1, 'forget', 'running', $2, '{"user_id":null,"user_email":null,"origin":null}')`,
      [id, BEGUN],
    )
    expect(await forget()).toMatchObject({ rewritten: [id], left: [] })
    expect(await files()).toHaveLength(1)
    await expectWhole()
  })

  test('after the database names the new file; the next run updates the store', async () => {
    await halfway(true)
    expect(await entryOf()).not.toHaveProperty('rewritten_at')
    expect(await forget()).toMatchObject({ rewritten: [], earlier: [id], left: [] })
    expect(await entryOf()).toMatchObject({ sha256: (await rowOf()).sha256 })
    expect(await files()).toHaveLength(1)
    await expectWhole()
  })

  test('while the new file is being written', async () => {
    const run = command(['backup', 'forget-tenant', String(north.id)], ENV())
    await until('the new file to be begun', async () => {
      const names = await readdir(folder)
      return names.some((name) => /[.]\d+[.]tar/.test(name)) || undefined
    })
    run.signal('SIGKILL')
    await run.ended
    await expectWhole()
    const { rewritten, earlier, left } = await forget()
    expect([...rewritten, ...earlier]).toEqual([id])
    expect(left).toEqual([])
    const ofIt = (await readdir(folder)).filter((name) => name.startsWith(id))
    expect(ofIt.toSorted()).toEqual([...(await files()), `${id}.json`].toSorted())
    expect(await files()).toHaveLength(1)
    await expectWhole()
  })
})

test("a rewrite keeps the old file while it is being read, and does not apply that read's result to the new file", async () => {
  const held = await readingOf(service).lock(id)
  const reason = expect.stringContaining('still being read')
  expect(await forget()).toMatchObject({ rewritten: [], left: [{ backup_id: id, reason }] })
  expect(await files()).toHaveLength(2)
  await expectWhole()
  const { verified_at, fault } = await rowOf()
  const former = { id, rewritten_at: null }
  await service.app.db.acrossTenants(async (tx) => {
    expect(await saveDrill(tx, former, 1)).toBeUndefined()
    expect(await saveVerified(tx, former, false)).toBeUndefined()
  })
  expect(await rowOf()).toMatchObject({ verified_at, fault, drill_seconds: null })
  await held[Symbol.asyncDispose]()
  expect(await forget()).toMatchObject({ earlier: [id], left: [] })
  expect(await files()).toHaveLength(1)
  await expectWhole()
})

test('a rewrite keeps the old file while a restore of it is queued', async () => {
  await sql(
    `insert into backup_jobs (id, backup_id, kind, status, actor)
     values (gen_random_uuid(), $1, 'restore', 'queued', '{"user_id":null,"user_email":null,"origin":null}')`,
    [id],
  )
  expect((await forget()).left).toMatchObject([{ backup_id: id }])
  expect(await files()).toHaveLength(2)
  await sql('delete from backup_jobs')
  expect(await forget()).toMatchObject({ earlier: [id], left: [] })
})

test("backup forget-tenant deletes the tenant's own backups, and reports a backup that counts as failed", async () => {
  const failed = crypto.randomUUID()
  const { mac: _, ...entry } = JSON.parse(await readFile(join(kept, `${id}.json`), 'utf8'))
  await sql(
    `insert into backups (id, type, reason, status) values ($1, 'full', 'request', 'failed')`,
    [failed],
  )
  const signed = { ...entry, backup_id: failed }
  await writeSigned(
    folderStore(folder),
    await backupKeys(),
    `${failed}.json`,
    signed,
    new AbortController().signal,
  )
  const { left } = await forget()
  expect(left).toEqual([{ backup_id: failed, reason: expect.stringContaining('failed') }])
})
