/** A drill restores a backup into a temporary server, measures and journals the result, and cleans up. */
import { createReadStream } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import {
  drillNewest,
  type NamedDrillDeps,
} from '../../src/features/backups/drill/scheduled-drill.ts'
import { clearThrownAway } from '../../src/features/backups/drill/temporary-server.ts'
import { verifyDatabase } from '../../src/features/backups/drill/verify-sealed.ts'
import type { Header } from '../../src/features/backups/file/format.ts'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import { StoreError } from '../../src/features/backups/stores/store.ts'
import { openSealer } from '../../src/platform/crypto/index.ts'
import { type DatabaseAddress, ownerClient } from '../../src/platform/db/index.ts'
import { enrol } from '../second-factor/enrol.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { type Asked, openS3 } from '../support/s3.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, ROOT_KEY, type Service } from '../support/service.ts'
import { storeOf } from './stores.ts'
import { backupKeys, fileOf, make, readingOf, rewritten } from './support.ts'

const SECRETS = {
  table: 'second_factors',
  id: { column: 'user_id', type: 'bigint' },
  columns: ['sealed_secret'],
} as const

let service: Service
let root: Person
let north: Clinic

beforeAll(async () => {
  service = await openService({ background: ['backups', 'jobs'] })
  root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
  await enrol(service, north.people.doctor.token)
})

const drill = async (others: Partial<NamedDrillDeps> = {}) =>
  drillNewest({
    db: service.app.db,
    store: folderStore(join(service.dataDir, 'backups')),
    dataDir: service.dataDir,
    backupKeys: await backupKeys(),
    verify: (address) => verifyDatabase(address, openSealer(ROOT_KEY), [SECRETS]),
    log: silentLog,
    reading: readingOf(service),
    ...others,
  })

/** Returns whether the backup counts as verified, and whether a failure was reported. */
async function proofOf(id: string) {
  const [row] = await service.database.sql(
    `select verified_at is not null as is_proven, fault is not null as is_faulty,
       (select count(*) from journal
         where action = 'backup.failed' and resource_id = backups.id::text) as told
     from backups where id = $1`,
    [id],
  )
  return row
}
const PROVEN = { is_proven: true, is_faulty: false, told: 0 }
const FAILED = { is_proven: false, is_faulty: true, told: 1 }

const left = async () => (await readdir(service.dataDir)).filter((name) => /^drill-/.test(name))

test('a drill restores the newest full backup, and records the duration', async () => {
  expect(await drill()).toBeNull()
  const id = await make(service, root)
  await make(service, north.people.admin)
  const seconds = await drill()
  const [row] = await service.database.sql('select drill_seconds from backups where id = $1', [id])
  expect(row).toEqual({ drill_seconds: seconds })
  expect(seconds).toBeGreaterThan(0)
  const entries = await service.database.sql(
    `select changes from journal where action = 'backup.verified' and resource_id = $1`,
    [id],
  )
  expect(entries).toEqual([{ changes: { type: 'full', drill_seconds: seconds } }])
  expect(await left()).toEqual([])
})

test('a drill is listed as a job, and does not fault the backup when it is cancelled', async () => {
  const id = await make(service, root)
  const jobs = async () =>
    (await service.call('GET', '/api/admin/jobs', { token: root.token, query: { kind: 'drill' } }))
      .body.items
  const cancelled = drill({
    async verify() {
      const [job] = await jobs()
      expect(job).toMatchObject({
        status: 'running',
        subject_id: id,
        created_by: null,
        unit: 'bytes',
        can_cancel: true,
      })
      await service.call('DELETE', `/api/admin/jobs/${job.job_id}`, { token: root.token })
    },
  })
  await expect(cancelled).rejects.toThrow('the job was cancelled')
  expect(await proofOf(id)).toEqual(PROVEN)
  await drill()
  expect(await jobs()).toMatchObject([
    { status: 'completed', phase: 'Verifying the restored data' },
    { status: 'cancelled', error: null },
    ...(await jobs()).slice(2),
  ])
})

test('a drill does not mark a backup as faulty while the store is unavailable', async () => {
  const id = await make(service, root)
  const server = await openS3()
  const store = storeOf(server)
  onTestFinished(() => store.close())
  const never = new AbortController().signal
  await store.write(basename(fileOf(service, id)), createReadStream(fileOf(service, id)), never)
  for (const isAway of [
    () => true,
    // The read fails before the first byte, when the drill's server is already running.
    ({ method, key }: Asked) => method === 'GET' && key.endsWith('.age'),
  ]) {
    server.breakWith((asked) => (isAway(asked) ? { status: 503, code: 'SlowDown' } : undefined))
    await expect(drill({ store })).rejects.toThrow(StoreError)
    expect(await proofOf(id)).toEqual(PROVEN)
  }
})

test('a drill does not mark a backup as faulty when the temporary database server dies', async () => {
  const id = await make(service, root)
  const verify = async (address: DatabaseAddress) => {
    const client = ownerClient(address)
    client.on('error', () => undefined)
    await client.connect()
    await client.query('select pg_terminate_backend(pg_backend_pid())').finally(() => client.end())
  }
  await expect(drill({ verify })).rejects.toThrow(/terminat/)
  expect(await proofOf(id)).toEqual(PROVEN)
})

test.each([
  [
    'newer',
    (header: Header): Header => ({ ...header, schema_version: 9_999 }),
    /schema version 9999/,
  ],
  [
    'another',
    (header: Header): Header => ({
      ...header,
      migrations: header.migrations.map((one) => ({ ...one, checksum: 'other' })),
    }),
    /different migrations/,
  ],
])('a drill does not mark a backup of %s release as faulty', async (_, change, why) => {
  const id = await make(service, root)
  const file = rewritten(fileOf(service, id), change)
  await writeFile(fileOf(service, id), Buffer.concat(await Array.fromAsync(file)))
  await expect(drill()).rejects.toThrow(why)
  expect(await proofOf(id)).toEqual(PROVEN)
})

test('a drill fails for a missing backup file', async () => {
  const id = await make(service, root)
  await rm(fileOf(service, id))
  await expect(drill()).rejects.toThrow(/missing/)
  expect(await proofOf(id)).toEqual(FAILED)
})

test('a drill fails for an altered file, and for a field that cannot be decrypted', async () => {
  const id = await make(service, root)
  expect(await proofOf(id)).toEqual(PROVEN)
  const bytes = await readFile(fileOf(service, id))
  const altered = Buffer.from(bytes)
  altered[bytes.length - 40] = (bytes[bytes.length - 40] ?? 0) ^ 1
  await writeFile(fileOf(service, id), altered)
  await expect(drill()).rejects.toThrow(/altered/)
  expect(await proofOf(id)).toEqual(FAILED)
  await service.database.sql(
    `update second_factors set sealed_secret = set_byte(sealed_secret, length(sealed_secret) - 1,
       (get_byte(sealed_secret, length(sealed_secret) - 1) + 1) % 256)`,
  )
  const sealed = await make(service, root)
  await expect(drill()).rejects.toThrow(/second_factors/)
  expect(await proofOf(sealed)).toEqual(FAILED)
  const rows = await service.database.sql(
    'select from backups where drill_seconds is not null and id = $1',
    [id],
  )
  expect(rows).toEqual([])
  expect(await left()).toEqual([])
})

test('the next start of the service removes the files and processes of a killed drill', async () => {
  const folder = join(service.dataDir, 'drill-left')
  await mkdir(join(folder, 'postgres'), { recursive: true })
  await clearThrownAway(service.dataDir, silentLog)
  expect(await left()).toEqual([])
})
