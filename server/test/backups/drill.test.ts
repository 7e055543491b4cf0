/** A drill restores a backup into a temporary server, measures and journals the result, and cleans up. */
import { createReadStream } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Backup } from '../../src/features/backups/backups.schema.ts'
import { openDrills } from '../../src/features/backups/drill/drills.ts'
import {
  drillNewest,
  drillUnlessRunning,
  type NamedDrillDeps,
} from '../../src/features/backups/drill/scheduled-drill.ts'
import { clearThrownAway } from '../../src/features/backups/drill/temporary-server.ts'
import { verifyDatabase } from '../../src/features/backups/drill/verify-sealed.ts'
import type { Header } from '../../src/features/backups/file/format.ts'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import { StoreError } from '../../src/features/backups/stores/store.ts'
import { SECOND } from '../../src/lib/clock.ts'
import { openSealer } from '../../src/platform/crypto/index.ts'
import { type DatabaseAddress, ownerClient } from '../../src/platform/db/index.ts'
import { SYSTEM } from '../../src/platform/journal/index.ts'
import { atOnce, tally } from '../races/race.ts'
import { enrol } from '../second-factor/enrol.ts'
import {
  type Clinic,
  createClinic,
  makeClinic,
  type Person,
  superadmin,
} from '../support/clinics.ts'
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

const depsOf = async (others: Partial<NamedDrillDeps> = {}): Promise<NamedDrillDeps> => ({
  db: service.app.db,
  store: folderStore(join(service.dataDir, 'backups')),
  dataDir: service.dataDir,
  backupKeys: await backupKeys(),
  verify: (address) => verifyDatabase(address, openSealer(ROOT_KEY), [SECRETS]),
  log: silentLog,
  reading: readingOf(service),
  ...others,
})

const drill = async (others?: Partial<NamedDrillDeps>, run = drillNewest) =>
  run(await depsOf(others))

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
  expect(entries).toEqual([
    { changes: { type: 'full', drill_seconds: seconds, records: expect.any(Number) } },
  ])
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

test('a drill is refused while another one is running, and the schedule then skips it', async () => {
  const id = await make(service, root)
  const lines: string[] = []
  const log = { ...silentLog, info: (_: unknown, line?: string) => void lines.push(line ?? '') }
  await drill({
    async verify() {
      await expect(drill()).rejects.toMatchObject({ code: 'drill_running' })
      await drill({ log }, drillUnlessRunning)
    },
  })
  expect(lines).toEqual(['scheduled test restore skipped, because another one is running'])
  expect(await proofOf(id)).toEqual(PROVEN)
})

test.each(['cancelled', 'failed'])(
  'a drill in a long query ends at once and is %s',
  async (status) => {
    const id = await make(service, root)
    const { promise: isVerifying, resolve: onVerifying } = Promise.withResolvers<void>()
    const drills = openDrills(
      await depsOf({
        async verify(address) {
          const client = ownerClient(address)
          await client.connect()
          onVerifying()
          await client.query('select pg_sleep(300)').finally(() => client.end())
        },
      }),
    )
    const job = await drills.start({ id, rewritten_at: null }, SYSTEM)
    await isVerifying
    const begun = performance.now()
    if (status === 'failed') drills.stop()
    else {
      await service.call('DELETE', `/api/admin/jobs/${job}`, { token: root.token })
      service.clock.elapse(2 * SECOND)
    }
    await drills.idle()
    expect(performance.now() - begun).toBeLessThan(20_000)
    expect((await jobOf(job)).status).toBe(status)
    expect(await proofOf(id)).toEqual(PROVEN)
    expect(await left()).toEqual([])
  },
)

/** Requests a drill over HTTP. */
const request = (id: string, { token }: Person) =>
  service.call('POST', `/api/admin/backup/drill/${id}`, { token })

interface Listed {
  items: Backup[]
  full_backup: Partial<Backup> | null
}

const listFor = async ({ token }: Person): Promise<Listed> =>
  (await service.call('GET', '/api/admin/backup/list', { token })).body

const jobOf = async (id: string) =>
  (await service.call('GET', `/api/admin/jobs/${id}`, { token: root.token })).body

test('a requested drill runs alone as a job of its requester, and is journaled for them', async () => {
  const id = await make(service, root)
  const answers = await atOnce(() => request(id, root), 3)
  expect(tally(answers)).toEqual({ 202: 1, 409: 2 })
  const refused = answers.find(({ status }) => status === 409)
  expect(refused?.body.code).toBe('drill_running')
  const started = answers.find(({ status }) => status === 202)?.body
  expect(started).toEqual({
    job_id: expect.any(String),
    backup_id: id,
    type: 'full',
    status: 'running',
  })
  expect(await jobOf(started.job_id)).toMatchObject({
    kind: 'drill',
    subject_id: id,
    created_by: root.id,
    can_cancel: true,
  })
  await service.idle('backups')
  expect(await jobOf(started.job_id)).toMatchObject({ status: 'completed', error: null })
  const entries = await service.database.sql(
    `select user_id, changes ->> 'drill_seconds' is not null as is_measured from journal
     where action = 'backup.verified' and resource_id = $1`,
    [id],
  )
  expect(entries).toEqual([{ user_id: root.id, is_measured: true }])
  const { items, full_backup } = await listFor(root)
  const tested = items.find(({ backup_id }) => backup_id === id)
  expect(tested).toMatchObject({ tested_by: root.id, tested_records: tested?.records })
  expect(tested?.tested_by_name).toEqual(expect.any(String))
  expect(full_backup).toBeNull()
  // The clinic does not see the backup of all clinics, but learns what it proves.
  expect(await listFor(north.people.admin)).toMatchObject({
    full_backup: { created_at: tested?.created_at, tested_at: tested?.tested_at },
  })
  const later = await createClinic(service, root, 'later')
  expect((await listFor(later.people.admin)).full_backup).toBeNull()
  expect(await left()).toEqual([])
})

test('a drill is refused for a backup of one tenant, and a full backup is hidden from administrators', async () => {
  const { admin } = north.people
  const own = await make(service, admin)
  const full = await make(service, root)
  for (const person of [root, admin])
    expect(await request(own, person)).toMatchObject({
      status: 409,
      body: { code: 'restore_refused' },
    })
  expect(await request(full, admin)).toMatchObject({ status: 404 })
  expect(await request(crypto.randomUUID(), root)).toMatchObject({ status: 404 })
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
