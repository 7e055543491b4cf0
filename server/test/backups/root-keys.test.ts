/** Backups made before a root key rotation can be restored for as long as they exist. */
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { destroyUnneededRoots } from '../../src/features/backups/schedule/root-keys.ts'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import { systemTime } from '../../src/lib/time.ts'
import { eventTenantId, ROOT_SEALED } from '../../src/open-features.ts'
import { fingerprintOf, openSealer, rotateRoot } from '../../src/platform/crypto/index.ts'
import { alone, openScopes } from '../../src/platform/db/index.ts'
import { furnishPatient } from '../isolation/furnish.ts'
import { atTheEndOfFile } from '../support/cleanup.ts'
import { type Clinic, makeClinic, type Person, signIn, superadmin } from '../support/clinics.ts'
import { migratedDatabase, OF_THIS_DATABASE, type TestDatabase } from '../support/database.ts'
import { proxyTo } from '../support/database-proxy.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, ROOT_KEY, rootKeys, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { make } from './support.ts'

const [OLD, NEW] = [ROOT_KEY, Buffer.alloc(32, 8)]

let database: TestDatabase
let service: Service
let root: Person
let north: Clinic
let patientId: number
let folder: string
/** The backup made before the rotation. */
let old: string

const open = async (key: Buffer) => {
  service = await openService({
    background: ['backups', 'encryption', 'jobs', 'webhooks'],
    database,
    rootKeys: rootKeys(key),
    config: { BACKUP_DIR: folder },
  })
  root = await superadmin(service)
}
const sql = <T = any>(text: string, values: unknown[] = []) =>
  database.sql<T & object>(text, values)
const sealedBy = async (key: Buffer) =>
  sql(
    `select id from key_encryption_keys
     where encode(substring(wrapped_key from 2 for 8), 'hex') = $1`,
    [fingerprintOf(key)],
  )
const kept = () => sql('select fingerprint from root_keys where sealed_key is not null')

async function nameOfPatient(): Promise<string> {
  const { email, password } = north.people.doctor
  const { access_token: token } = await signIn(service, { email, password, subdomain: 'north' })
  const { body } = await service.call('GET', `/api/patients/${patientId}`, { token })
  return body.full_name
}

beforeAll(async () => {
  database = await migratedDatabase()
  folder = await mkdtemp(join(tmpdir(), 'wardkeep-backups-'))
  atTheEndOfFile(() => rm(folder, { recursive: true }))
  await open(OLD)
  north = await makeClinic(service, root, 'north')
  patientId = (await furnishPatient(service, north)).patientId
  old = await make(service, root)
  // Checks the order: the data keys are destroyed first, and then the root key is replaced.
  const asked = await service.call('POST', '/api/admin/encryption/rotate', {
    token: root.token,
    body: {},
  })
  expect(asked.status).toBe(200)
  await until('the keys to be rotated', async () => {
    const [row] = await sql(`select from encryption_rotations where status = 'completed'`)
    return row && true
  })
  await service.close()
  const db = openScopes(database.address, {
    clock: systemTime,
    size: 1,
    changes: alone,
    log: silentLog,
  })
  await rotateRoot(db, {
    source: rootKeys(OLD, NEW),
    next: async () => ({ key: NEW, from: 'the test' }),
    sealed: ROOT_SEALED,
    eventTenantId,
    onProgress: () => undefined,
  })
  await db.close()
  await open(NEW)
})

test('a backup names the root key that decrypts it', async () => {
  const later = await make(service, root)
  const entries = await Promise.all(
    [old, later].map(async (id) => JSON.parse(await readFile(join(folder, `${id}.json`), 'utf8'))),
  )
  expect(entries.map(({ keys }) => keys.root_key)).toEqual([fingerprintOf(OLD), fingerprintOf(NEW)])
  // Keeps a copy of the old key, in case the service must load it again.
  expect(await kept()).toEqual([{ fingerprint: fingerprintOf(OLD) }])
})

test('a backup made before a root key rotation can be verified, and adopted if the database loses it', async () => {
  const { commands } = service.app.features.backups
  expect(await commands.verify(old, () => undefined)).toMatchObject({ backup_id: old })
  await sql('delete from backups where id = $1', [old])
  expect(await commands.adopt()).toEqual({ adopted: [old], refused: [] })
})

/** Starts to delete unneeded root keys, and holds back the database's answer to the query for the oldest backup. */
async function destroyUpToDecision(): Promise<{ decided: Promise<void>; finish(): Promise<void> }> {
  const proxy = await proxyTo(database)
  const address = { url: proxy.url }
  const db = openScopes(address, { clock: systemTime, size: 1, changes: alone, log: silentLog })
  onTestFinished(() => db.close())
  const held = proxy.holdAnswerOf('created_at')
  const destroyed = destroyUnneededRoots({
    db,
    store: folderStore(folder),
    log: silentLog,
    sealer: openSealer(NEW),
    rootSealed: ROOT_SEALED,
  })
  return {
    decided: held.answered,
    async finish() {
      held.release()
      await destroyed
    },
  }
}
const forget = (id: string) => sql('delete from backups where id = $1', [id])

test('a rotation keeps the root key of a backup whose row is lost while unused keys are selected', async () => {
  const destruction = await destroyUpToDecision()
  await destruction.decided
  await forget(old)
  await destruction.finish()
  expect(await kept()).toHaveLength(1)
  expect(await service.app.features.backups.commands.adopt()).toMatchObject({ adopted: [old] })
})

test('a rotation keeps the root key of a backup that is adopted while unused keys are selected', async () => {
  await forget(old)
  const destruction = await destroyUpToDecision()
  await destruction.decided
  const adopting = service.app.features.backups.commands.adopt()
  await until('the backup to be adopted, or to wait for the decision', async () => {
    const [row] = await sql(
      `select from backups where id = $1 union all
       select from pg_locks where locktype = 'advisory' and not granted and ${OF_THIS_DATABASE}`,
      [old],
    )
    return row && true
  })
  await destruction.finish()
  expect(await adopting).toEqual({ adopted: [old], refused: [] })
  expect(await kept()).toHaveLength(1)
})

test('a rotation keeps the root key of a failed backup whose file is still stored', async () => {
  const others = await sql<{ id: string }>('select id from backups where id <> $1', [old])
  expect(others).not.toEqual([])
  await sql(`update backups set status = 'failed' where id = $1`, [old])
  const destruction = await destroyUpToDecision()
  await destruction.finish()
  expect(await kept()).toHaveLength(1)
  await sql(`update backups set status = 'completed' where id = $1`, [old])
})

test('an old backup is restored with its own keys, and the restored values can be decrypted', async () => {
  await sql(`update users set full_name = 'Since' where id = $1`, [north.people.nurse.id])
  await sql('delete from patients where id = $1', [patientId])
  const { commands } = service.app.features.backups
  const wanted = { access: 'merged', dry_run: false } as const
  await commands.restore(old, wanted, () => undefined)
  await until('the service to be open again', () =>
    nameOfPatient().then(
      (name) => expect(name).toBe('Paula of north') ?? true,
      (error: Error) => {
        if (!error.message.includes('503')) throw error
        return undefined
      },
    ),
  )
  root = await superadmin(service)
  expect(await sealedBy(OLD)).toHaveLength(1)
})

test('deleting the last backup of a former root key deletes that key, and everything else stays readable', async () => {
  expect(await kept()).toHaveLength(1)
  const aside = await mkdtemp(join(tmpdir(), 'wardkeep-aside-'))
  onTestFinished(() => rm(aside, { recursive: true }))
  const filesOfOld = [`${old}.json`, `${old}.tar.zst.age`]
  for (const name of filesOfOld) await cp(join(folder, name), join(aside, name))
  const path = (id: string) => `/api/admin/backup/${id}`
  for (const { id } of await sql(
    `select id from backups
     where created_at < (select retired_at from root_keys where retired_at is not null)`,
  ))
    expect((await service.call('DELETE', path(id), { token: root.token })).status).toBe(200)
  await make(service, root)
  await until('the former root key to go', async () => (await kept()).length === 0 || undefined)
  expect(await sealedBy(OLD)).toEqual([])
  expect(
    await sql(
      `select tenant_id, user_id, resource_id, changes ->> 'root_key' as root_key from journal
       where action = 'encryption.root_key_destroyed'`,
    ),
  ).toEqual([
    {
      // The event belongs to the platform tenant, so the platform's webhooks and chats are notified.
      tenant_id: root.tenant_id,
      user_id: null,
      resource_id: fingerprintOf(OLD),
      root_key: fingerprintOf(OLD),
    },
  ])
  expect(await sql('select fingerprint from root_keys order by created_at')).toEqual([
    { fingerprint: fingerprintOf(OLD) },
    { fingerprint: fingerprintOf(NEW) },
  ])
  // The running service still has the key in memory. After a restart, no key would decrypt the backup.
  for (const name of filesOfOld) await cp(join(aside, name), join(folder, name))
  expect(await service.app.features.backups.commands.adopt()).toEqual({
    adopted: [],
    refused: [
      {
        name: `${old}.json`,
        reason: `its root key ${fingerprintOf(OLD)} was destroyed when no registered backup needed it, so the file can no longer be decrypted`,
      },
    ],
  })
  await service.close()
  await open(NEW)
  expect(await nameOfPatient()).toBe('Paula of north')
})
