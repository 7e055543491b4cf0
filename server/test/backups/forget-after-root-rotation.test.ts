/** After a root key rotation, rewrites an earlier backup. One root key is then enough to restore the backup. */

import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { beforeAll, describe, expect, test } from 'vitest'
import { erasePurged } from '../../src/features/backups/erase/erase.ts'
import { readNotes } from '../../src/features/backups/erase/purge-notes.ts'
import { rewrite } from '../../src/features/backups/erase/rewrite.ts'
import { decrypt } from '../../src/features/backups/file/age.ts'
import { FORMAT, type Header } from '../../src/features/backups/file/format.ts'
import { backupKeysFrom } from '../../src/features/backups/file/identity.ts'
import { fileName, sidecarName } from '../../src/features/backups/file/names.ts'
import { readBackup } from '../../src/features/backups/file/read.ts'
import { findSigned } from '../../src/features/backups/file/signed-text.ts'
import { writeBackup } from '../../src/features/backups/file/write.ts'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import { fingerprintOf } from '../../src/platform/crypto/index.ts'
import { runCommand } from '../docs/command.ts'
import { furnishPatient } from '../isolation/furnish.ts'
import { atTheEndOfFile } from '../support/cleanup.ts'
import { type Clinic, makeClinic, signIn, superadmin } from '../support/clinics.ts'
import { emptyDatabase, migratedDatabase, type TestDatabase } from '../support/database.ts'
import { scratch } from '../support/scratch.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, ROOT_KEY, rootKeys, type Service } from '../support/service.ts'
import { purgeClinic } from './support.ts'

const [OLD, NEW] = [ROOT_KEY, Buffer.alloc(32, 8)]

let database: TestDatabase
let service: Service
let north: Clinic
let south: Clinic
let patientId: number
let folder: string
/** The backup made before the rotation, and its current file. */
let id: string
let file: string

const open = (key: Buffer, on = database) =>
  openService({
    database: on,
    rootKeys: rootKeys(key),
    config: { BACKUP_DIR: folder },
  })
const commands = () => service.app.features.backups.commands
const alone = (key: Buffer) => backupKeysFrom([key], [])
const ignored = () => undefined

beforeAll(async () => {
  database = await migratedDatabase()
  folder = await mkdtemp(join(tmpdir(), 'wardkeep-backups-'))
  atTheEndOfFile(() => rm(folder, { recursive: true }))
  service = await open(OLD)
  const root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
  south = await makeClinic(service, root, 'south')
  patientId = (await furnishPatient(service, south)).patientId
  id = (await commands().create(null, ignored)).backup_id
  await service.close()
  const rotated = await runCommand(['keys', 'rotate-root'], {
    DATABASE_URL: database.url,
    DATA_DIR: await scratch(),
    ENCRYPTION_KEY: OLD.toString('base64'),
    ENCRYPTION_KEY_NEXT: NEW.toString('base64'),
  })
  expect(rotated, rotated.stderr).toMatchObject({ code: 0 })
  service = await open(NEW)
  await purgeClinic(service, north.id)
  expect(await commands().forgetTenant(north.id, ignored)).toMatchObject({
    rewritten: [id],
    left: [],
  })
  const [name = ''] = (await readdir(folder)).filter((one) => one.endsWith('.age'))
  expect(name).toMatch(/[.]\d+[.]tar/)
  file = join(folder, name)
})

test('the rewritten file and its list entry are encrypted with the root key that they name', async () => {
  const { header } = await readBackup(createReadStream(file), await alone(OLD), {})
  expect(header.keys.root_key).toBe(fingerprintOf(OLD))
  expect(header.forgotten).toEqual([north.id])
  await expect(readBackup(createReadStream(file), await alone(NEW), {})).rejects.toThrow(
    'the configured root key does not decrypt it',
  )
  const entry = await findSigned(folderStore(folder), await alone(OLD), sidecarName(id))
  expect(entry).toMatchObject({ forgotten: [north.id], keys: { root_key: fingerprintOf(OLD) } })
})

test('a service with both root keys verifies, drills and adopts the rewritten backup', async () => {
  expect(await commands().verify(id, ignored)).toMatchObject({ backup_id: id })
  expect((await commands().drill(id, ignored)).drill_seconds).toBeGreaterThan(0)
  await database.sql('delete from backups')
  expect((await commands().adopt()).adopted).toEqual([id])
  expect(await commands().forgetTenant(north.id, ignored)).toMatchObject({
    rewritten: [],
    earlier: [id],
    left: [],
  })
})

test('the purge note can be verified with either root key, and with no other key', async () => {
  const backupKeys = await backupKeysFrom([NEW, OLD], [])
  const deps = { db: service.app.db, store: folderStore(folder), backupKeys, log: silentLog }
  await erasePurged(deps, new AbortController().signal)
  const read = async (key: Buffer) => readNotes(folderStore(folder), await alone(key))
  for (const key of [OLD, NEW]) {
    const { notes, disbelieved } = await read(key)
    expect(notes.map(({ tenant_id }) => tenant_id)).toEqual([north.id])
    expect(disbelieved).toEqual([])
  }
  const { notes, disbelieved } = await read(Buffer.alloc(32, 9))
  expect(notes).toEqual([])
  expect(disbelieved).toMatchObject([{ reason: 'it was not signed with this root key' }])
})

describe('the rewritten backup restored into another database', () => {
  let restored: TestDatabase
  let env: Record<string, string>
  beforeAll(async () => {
    restored = await emptyDatabase()
    const dataDir = await scratch()
    const key = join(dataDir, 'safe.key')
    await writeFile(key, OLD.toString('base64'))
    env = { DATABASE_URL: restored.url, DATA_DIR: dataDir, ENCRYPTION_KEY_FILE: key }
    const ended = await runCommand(['backup', 'restore', file], env)
    expect(ended, ended.stderr).toMatchObject({ code: 0 })
  })

  test('has contents that the same root key decrypts', async () => {
    const ended = await runCommand(['keys', 'verify'], env)
    expect(ended, ended.stderr).toMatchObject({ code: 0 })
    expect(ended.stdout).toMatch(/^patients: [1-9]\d* values in \d+ rows, 0 cannot be decrypted$/m)
  })

  test('lets the service start, and a doctor read a record; the purged clinic is missing', async () => {
    const copy = await open(OLD, restored)
    const { email, password } = south.people.doctor
    const { access_token: token } = await signIn(copy, { email, password, subdomain: 'south' })
    const { body } = await copy.call('GET', `/api/patients/${patientId}`, { token })
    expect(body.full_name).toBe('Paula of south')
    expect(await restored.sql('select from tenants where id = $1', [north.id])).toEqual([])
  })
})

describe('a rewritten backup file', () => {
  const OPERATOR = Buffer.alloc(32, 9)

  /**
   * Rewrites a backup that was made with the former root key. Its header contains `root_key` as the name of the key.
   * Returns the path of the new file.
   */
  async function leftOf(root_key: string | undefined): Promise<string> {
    const place = await scratch()
    const backup_id = randomUUID()
    const header: Header = {
      format: FORMAT,
      backup_id,
      installation: 'i1',
      type: 'full',
      tenant_id: null,
      created_at: '2026-11-21T12:00:00.000Z',
      schema_version: 12,
      migrations: [],
      keys: {
        key_encryption_keys: [],
        data_keys: [],
        ...(root_key === undefined ? {} : { root_key }),
      },
      tables: [],
    }
    const rows = () => Readable.from([])
    const former = writeBackup({ header, rows }, await alone(OLD), ignored)
    await writeFile(join(place, fileName(backup_id, null)), former)
    const backupKeys = await backupKeysFrom([NEW, OLD], (await alone(OPERATOR)).recipients)
    const filed = {
      id: backup_id,
      size_bytes: 1_000,
      sha256: '',
      records: 0,
      schema_version: 12,
      rewritten_at: null,
    }
    const wanted = { rewritten_at: '2026-11-22T12:00:00.000Z', forgotten: [2] }
    const watch = { signal: new AbortController().signal, progress: ignored }
    await rewrite(filed, wanted, { store: folderStore(place), backupKeys }, watch)
    return join(place, fileName(backup_id, wanted.rewritten_at))
  }

  test.each([
    ['the root key that the backup names', fingerprintOf(OLD), OLD, NEW],
    ['the current root key if the backup names no key', undefined, NEW, OLD],
    ['the current root key if the backup names an unknown key', '0123456789abcdef', NEW, OLD],
  ])('is encrypted for the operator and with %s', async (_, named, by, other) => {
    const left = await leftOf(named)
    const { header } = await readBackup(createReadStream(left), await alone(by), {})
    expect(header).toMatchObject({ forgotten: [2] })
    expect(header.keys.root_key).toBe(named)
    await expect(readBackup(createReadStream(left), await alone(other), {})).rejects.toThrow(
      'the configured root key does not decrypt it',
    )
    const { opener } = await alone(OPERATOR)
    expect(await Array.fromAsync(decrypt(createReadStream(left), opener))).not.toEqual([])
  })
})
