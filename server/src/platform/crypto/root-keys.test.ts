/** Which root key a database needs: it is named by the first, and no other is taken or made. */
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

describe('a database that names none', () => {
  test('names the first that is given', async () => {
    const { sealer } = await openRootKeys(db, given(ONE, TWO))
    expect(sealer.fingerprint).toBe(fingerprintOf(ONE))
    expect(await named()).toEqual([fingerprintOf(ONE)])
  })

  test('names one, of eight nodes that start at once with keys of their own', async () => {
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

  test('but is sealed takes the one that opens it, and none is made for it', async () => {
    await openKeyRing(db, openSealer(TWO), unheard)
    const path = await folder()
    await expect(openRootKeys(db, ownKeys(path, silentLog))).rejects.toThrow(
      'ENCRYPTION_KEY: the database was sealed with another root key: none that is given opens it, and was given none.',
    )
    expect(await readdir(path)).toEqual([])
    const { sealer } = await openRootKeys(db, given(ONE, TWO))
    expect(sealer.fingerprint).toBe(fingerprintOf(TWO))
  })
})

describe('a database that names one', () => {
  test('takes that one, wherever it stands', async () => {
    const before = await openRootKeys(db, given(ONE))
    const after = await openRootKeys(db, given(TWO, ONE))
    expect(after.sealer.fingerprint).toBe(fingerprintOf(ONE))
    expect(after.deriveKey('test')).toEqual(before.deriveKey('test'))
    expect(after.deriveKey('test')).not.toEqual(after.deriveKey('another'))
  })

  test('is opened by no other: the line names what it needs and what was given', async () => {
    await openRootKeys(db, given(ONE))
    await expect(openRootKeys(db, given(TWO))).rejects.toThrow(
      `it needs ${fingerprintOf(ONE)}, and was given ${fingerprintOf(TWO)} (key 0).`,
    )
  })

  test('has none made for it', async () => {
    await openRootKeys(db, given(ONE))
    const path = await folder()
    await expect(openRootKeys(db, ownKeys(path, silentLog))).rejects.toThrow(
      `it needs ${fingerprintOf(ONE)}, and was given none.`,
    )
    expect(await readdir(path)).toEqual([])
  })
})

test('the id of a key-encryption key is given once, even where all of them were deleted', async () => {
  const ids = () => database.sql('select id::int from key_encryption_keys')
  await openKeyRing(db, openSealer(ONE), unheard)
  const [first] = await ids()
  await database.sql('delete from key_encryption_keys')
  await openKeyRing(db, openSealer(TWO), unheard)
  expect(await ids()).toEqual([{ id: Number(first?.id) + 1 }])
})
