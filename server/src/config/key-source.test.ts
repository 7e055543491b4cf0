/** Tests that root keys come from variables or files, and that generated keys are stored in the data folder. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../test/support/server-address.ts'
import { fingerprintOf } from '../platform/crypto/index.ts'
import { readConfig } from './config.ts'
import { givenKeys, keySource } from './key-source.ts'

const [ONE, TWO] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const text = (key: Buffer) => key.toString('base64')
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wardkeep-key-source-'))
  onTestFinished(() => rm(folder, { recursive: true }))
})

const source = (env: Record<string, string>) =>
  keySource(readConfig({ ...env, DATA_DIR: folder }), silentLog)
const froms = async (env: Record<string, string>) =>
  (await source(env).given()).map(({ from }) => from.replace(folder, 'DATA_DIR'))

test('the source of root keys lists the current key first, followed by the next one', async () => {
  await writeFile(join(folder, 'root.key'), text(TWO))
  const file = join(folder, 'next')
  await writeFile(file, text(TWO))
  expect(await froms({})).toEqual(['DATA_DIR/root.key'])
  expect(await froms({ ENCRYPTION_KEY: text(ONE) })).toEqual(['ENCRYPTION_KEY'])
  expect(await froms({ ENCRYPTION_KEY: text(ONE), ENCRYPTION_KEY_NEXT: text(TWO) })).toEqual([
    'ENCRYPTION_KEY',
    'ENCRYPTION_KEY_NEXT',
  ])
  const files = { ENCRYPTION_KEY_FILE: join(folder, 'root.key'), ENCRYPTION_KEY_NEXT_FILE: file }
  expect(await froms(files)).toEqual(['DATA_DIR/root.key', 'DATA_DIR/next'])
  expect(await froms({ ENCRYPTION_KEY_NEXT: text(ONE) })).toEqual([
    'DATA_DIR/root.key',
    'ENCRYPTION_KEY_NEXT',
  ])
})

test('the source of root keys reads the next key from its variable, or creates a key in the data folder', async () => {
  const configured = source({ ENCRYPTION_KEY: text(ONE) })
  await expect(configured.next()).rejects.toThrow(/^ENCRYPTION_KEY_NEXT_FILE: set it to a file/)
  expect(await readdir(folder)).toEqual([])
  const both = source({ ENCRYPTION_KEY: text(ONE), ENCRYPTION_KEY_NEXT: text(TWO) })
  expect((await both.next()).key).toEqual(TWO)
  await source({}).next()
  expect(await readdir(folder)).toEqual(['root.key.next'])
})

test('the source of root keys stores the next key in the data folder before the key is used', async () => {
  await writeFile(join(folder, 'root.key'), text(ONE))
  const next = join(folder, 'root.key.next')
  const given = source({ ENCRYPTION_KEY_NEXT: text(TWO) })
  expect(await given.next()).toEqual({ key: TWO, from: next })
  expect(await given.next()).toEqual({ key: TWO, from: next })
  // The key stays in the folder, even if the variable is removed.
  expect(await source({}).next()).toEqual({ key: TWO, from: next })
  await expect(source({ ENCRYPTION_KEY_NEXT: text(Buffer.alloc(32, 3)) }).next()).rejects.toThrow(
    `${next} contains a different key than ENCRYPTION_KEY_NEXT`,
  )
  await source({}).settle(fingerprintOf(TWO))
  expect(await froms({})).toEqual(['DATA_DIR/root.key', `DATA_DIR/root.key.${fingerprintOf(ONE)}`])
})

test('the source of root keys does not change key files in the data folder if a key is configured', async () => {
  await writeFile(join(folder, 'root.key'), text(ONE))
  await writeFile(join(folder, 'root.key.next'), text(TWO))
  await source({ ENCRYPTION_KEY: text(TWO) }).settle(fingerprintOf(TWO))
  expect((await readdir(folder)).sort()).toEqual(['root.key', 'root.key.next'])
  await source({}).settle(fingerprintOf(TWO))
  expect((await readdir(folder)).sort()).toEqual(['root.key', `root.key.${fingerprintOf(ONE)}`])
})

test('the source of root keys returns all existing keys without a database, and creates no key', async () => {
  const config = readConfig({ DATA_DIR: folder })
  await expect(givenKeys(config, silentLog)).rejects.toThrow(/only be decrypted with its root key/)
  expect(await readdir(folder)).toEqual([])
  await writeFile(join(folder, 'root.key'), text(ONE))
  await writeFile(join(folder, `root.key.${fingerprintOf(TWO)}`), text(TWO))
  expect(await givenKeys(config, silentLog)).toEqual([ONE, TWO])
})
