/** Tests how a database records its root key, and that no other key is used or created afterwards. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { scopesOf, unheard } from '../../../test/sessions/scopes.ts'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import type { Scopes } from '../db/index.ts'
import { openKeyRing } from './key-ring.ts'
import { ownKeys } from './own-keys.ts'
import { givenOnly } from './root-key.ts'
import { openRootKeys } from './root-keys.ts'
import { fingerprintOf, openSealer } from './seal.ts'

const [ONE, TWO] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const given = (...keys: Buffer[]) =>
  givenOnly(...keys.map((key, index) => ({ key, from: `key ${index}` })))

let database: TestDatabase
let db: Scopes

beforeAll(async () => {
  database = await migratedDatabase()
  db = scopesOf(database)
})

beforeEach(async () => {
  await database.sql('truncate root_keys, service_key, key_encryption_keys cascade')
})

const named = async () =>
  (await database.sql('select fingerprint from root_keys')).map(({ fingerprint }) => fingerprint)

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'wardkeep-root-keys-'))
  onTestFinished(() => rm(path, { recursive: true }))
  return path
}

describe('a database without a recorded root key', () => {
  test('records the first configured root key', async () => {
    const { sealer } = await openRootKeys(db, given(ONE, TWO))
    expect(sealer.fingerprint).toBe(fingerprintOf(ONE))
    expect(await named()).toEqual([fingerprintOf(ONE)])
  })

  test('records one key even if eight nodes with different keys start concurrently', async () => {
    const path = await folder()
    const opened = await Promise.all(
      Array.from({ length: 8 }, () => openRootKeys(db, ownKeys(path, silentLog))),
    )
    const names = new Set(opened.map(({ sealer }) => sealer.fingerprint))
    expect([...names]).toEqual(await named())
    const derived = new Set(opened.map(({ deriveKey }) => deriveKey('test').toString('hex')))
    expect(derived.size).toBe(1)
    expect(await readdir(path)).toEqual(['root.key'])
  })

  test('records the key that decrypts existing data, and creates none', async () => {
    await openKeyRing(db, openSealer(TWO), unheard)
    const path = await folder()
    await expect(openRootKeys(db, ownKeys(path, silentLog))).rejects.toThrow(
      'ENCRYPTION_KEY: the database is encrypted with another root key. No configured key decrypts it. Configured: none.',
    )
    expect(await readdir(path)).toEqual([])
    const { sealer } = await openRootKeys(db, given(ONE, TWO))
    expect(sealer.fingerprint).toBe(fingerprintOf(TWO))
  })
})

describe('a database with a recorded root key', () => {
  test('uses the recorded key regardless of its position in the configuration', async () => {
    const before = await openRootKeys(db, given(ONE))
    const after = await openRootKeys(db, given(TWO, ONE))
    expect(after.sealer.fingerprint).toBe(fingerprintOf(ONE))
    expect(after.deriveKey('test')).toEqual(before.deriveKey('test'))
    expect(after.deriveKey('test')).not.toEqual(after.deriveKey('another'))
  })

  test('rejects other keys with an error that names required and configured keys', async () => {
    await openRootKeys(db, given(ONE))
    await expect(openRootKeys(db, given(TWO))).rejects.toThrow(
      `It requires ${fingerprintOf(ONE)}. Configured: ${fingerprintOf(TWO)} (key 0).`,
    )
  })

  test('creates no root key if none is configured', async () => {
    await openRootKeys(db, given(ONE))
    const path = await folder()
    await expect(openRootKeys(db, ownKeys(path, silentLog))).rejects.toThrow(
      `It requires ${fingerprintOf(ONE)}. Configured: none.`,
    )
    expect(await readdir(path)).toEqual([])
  })
})

test('the service never reuses the id of a key-encryption key, even after all were deleted', async () => {
  const ids = () => database.sql('select id::int from key_encryption_keys')
  await openKeyRing(db, openSealer(ONE), unheard)
  const [first] = await ids()
  await database.sql('delete from key_encryption_keys')
  await openKeyRing(db, openSealer(TWO), unheard)
  expect(await ids()).toEqual([{ id: Number(first?.id) + 1 }])
})
