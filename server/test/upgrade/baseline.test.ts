/**
 * Starts the newest code on data of the baseline. `baseline/backup.tar.zst.age` is a full backup that the release
 * with migrations 1 to 14 wrote: its demo clinic, with names in several scripts, a webhook, a payment, a second
 * factor, a deleted clinic, and keys after a rotation. `baseline/root.key` is the root key of that installation.
 */
import { copyFile, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import { restoreBackupFile } from '../../src/open-features.ts'
import { readMigrations } from '../../src/platform/schema/migrate.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { PLAIN, type RunningService, startService, tokenOf } from '../support/process.ts'
import { scratch } from '../support/scratch.ts'
import { silentLog } from '../support/server-address.ts'

const BASELINE_VERSION = 14
const FILE = join(import.meta.dirname, 'baseline/backup.tar.zst.age')
const KEY_FILE = join(import.meta.dirname, 'baseline/root.key')
const PASSWORD = 'try-Wardkeep-26'

let database: TestDatabase

/** Creates the database exactly as the baseline left it. */
beforeAll(async () => {
  database = await emptyDatabase()
  const key = Buffer.from(await readFile(KEY_FILE, 'utf8'), 'base64')
  await restoreBackupFile(FILE, {
    address: database.address,
    rootKeys: [key],
    log: silentLog,
    store: folderStore(dirname(FILE)),
    migrations: (await readMigrations()).slice(0, BASELINE_VERSION),
  })
})

async function startNewest(): Promise<RunningService> {
  const dataDir = await scratch()
  await copyFile(KEY_FILE, join(dataDir, 'root.key'))
  return startService({ ...PLAIN, DATA_DIR: dataDir, DATABASE_URL: database.url })
}

const signIn = (service: RunningService, name: string) =>
  tokenOf(service, { email: `${name}@demo.local`, password: PASSWORD })

it('the service reads data that the baseline release wrote', async () => {
  const service = await startNewest()
  const read = async (path: string, token: string) => {
    const { status, body } = await service.call('GET', path, { token })
    expect(status, path).toBe(200)
    return body
  }
  const doctor = await signIn(service, 'doctor')
  const found = await service.call('POST', '/api/patients/search', {
    token: doctor,
    body: { search: '山田 太郎' },
  })
  expect(found.body.items).toMatchObject([
    { full_name: '山田 太郎', allergies: ['penicillin'], birth_date: '1980-02-29' },
  ])
  expect(await read('/api/preferences', doctor)).toMatchObject({ theme: 'dark' })

  const admin = await signIn(service, 'admin')
  expect(await read('/api/admin/users?search=Łukasz', admin)).toMatchObject({ total: 1 })
  // The baseline has no folded names and search tokens, but this release has.
  expect(await read('/api/admin/users?search=JORG%20arztel', admin)).toMatchObject({ total: 1 })
  for (const search of ['lucja oster', 'علي محمد', '山田太郎', 'SIOBHAN OBRIEN', 'mrn|A-23']) {
    const again = await service.call('POST', '/api/patients/search', {
      token: admin,
      body: { search },
    })
    expect(again.body.total, search).toBe(1)
  }
  expect(await read('/api/admin/departments', admin)).toMatchObject({ total: 9 })
  expect(await read('/api/admin/payments', admin)).toMatchObject({
    items: [{ status: 'succeeded', currency: 'EUR' }],
  })
  expect(await read('/api/webhooks', admin)).toMatchObject([{ url: 'http://127.0.0.1:9/hook' }])
  const { items } = await read('/api/admin/audit?action=patient.updated', admin)
  expect(items).toMatchObject([{ user_email: 'doctor@demo.local' }])
  const { body } = await service.call('POST', '/api/auth/login', {
    body: { email: 'doctor2@demo.local', password: PASSWORD },
  })
  expect(body).toMatchObject({ code: 'totp_required' })
  await service.stop()
})

it('the service applies every newer migration once, and starts again on the migrated database', async () => {
  const service = await startNewest()
  expect(await database.sql('select version, checksum from migrations order by version')).toEqual(
    (await readMigrations()).map(({ version, checksum }) => ({ version, checksum })),
  )
  expect((await service.call('GET', '/readyz')).status).toBe(200)
  await service.stop()
})
