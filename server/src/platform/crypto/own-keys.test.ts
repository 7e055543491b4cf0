/** Tests the root keys in the data folder: created once, never lost, and recovered after a crash at any point. */
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { StartupError } from '../../lib/startup-error.ts'
import type { Logger } from '../observe/log.ts'
import { type OwnKeys, ownKeys } from './own-keys.ts'
import { fingerprintOf } from './seal.ts'

let folder: string
let said: unknown[][]
let own: OwnKeys
const log = {
  warn: (...line: unknown[]) => void said.push(line),
} as unknown as Logger

beforeEach(async () => {
  said = []
  folder = await mkdtemp(join(tmpdir(), 'wardkeep-own-keys-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  own = ownKeys(folder, log)
})

const [OLD, NEW, OLDER] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2), Buffer.alloc(32, 3)]
const put = (name: string, key: Buffer) =>
  writeFile(join(folder, name), `${key.toString('base64')}\n`, { mode: 0o600 })
/** Returns the contents of the files in the folder by file name. */
const found = async () => {
  const names = await readdir(folder)
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
  return Object.fromEntries(names.map((name, index) => [name, texts[index]?.trim()]))
}
const kept = (key: Buffer) => ({ [`root.key.${fingerprintOf(key)}`]: key.toString('base64') })
const current = (key: Buffer) => ({ 'root.key': key.toString('base64') })

describe('the first root key in a data folder', () => {
  test('creates the key once, readable by the owner only, and logs no value', async () => {
    const deep = join(folder, 'not', 'yet')
    const keys = ownKeys(deep, log)
    expect(await keys.given()).toEqual([])
    const { key } = await keys.make()
    expect(key).toHaveLength(32)
    expect(await keys.given()).toEqual([{ key, from: join(deep, 'root.key') }])
    expect((await stat(join(deep, 'root.key'))).mode & 0o777).toBe(0o600)
    expect(await readdir(deep)).toEqual(['root.key'])
    expect(said).toHaveLength(1)
    const text = JSON.stringify(said)
    expect(text).toContain('root.key')
    expect(text).not.toContain(Buffer.from(key).toString('base64'))
  })

  test('returns the same key to concurrent callers', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => ownKeys(folder, log).make()))
    expect(new Set(made.map(({ key }) => fingerprintOf(key))).size).toBe(1)
  })

  test('creates a different key in every folder', async () => {
    const one = await own.make()
    const other = await ownKeys(join(folder, 'b'), log).make()
    expect(one.key).not.toEqual(other.key)
  })

  test('is not read from the unfinished file of a creation that crashed', async () => {
    await writeFile(join(folder, 'root.key.4711'), OLD.toString('base64').slice(0, 10))
    const { key } = await own.make()
    expect(await own.given()).toEqual([{ key, from: join(folder, 'root.key') }])
  })

  test('is not written over a damaged key file', async () => {
    await writeFile(join(folder, 'root.key'), 'half a k')
    await expect(own.make()).rejects.toBeInstanceOf(StartupError)
    await expect(own.given()).rejects.toBeInstanceOf(StartupError)
    expect(await readFile(join(folder, 'root.key'), 'utf8')).toBe('half a k')
  })
})

test('a data folder returns the same next key until the rotation makes it the current key', async () => {
  await put('root.key', OLD)
  const next = await own.keepNext()
  expect(await own.keepNext()).toEqual(next)
  expect((await stat(next.from)).mode & 0o777).toBe(0o600)
  await own.settle(fingerprintOf(next.key))
  expect((await own.keepNext()).key).not.toEqual(next.key)
})

describe('aligning the key files with the root key of the database', () => {
  test.each<[string, Record<string, Buffer>, Buffer, object]>([
    ['before a rotation', { 'root.key': OLD }, OLD, current(OLD)],
    [
      'if the next key is not used yet',
      { 'root.key': OLD, 'root.key.next': NEW },
      OLD,
      { ...current(OLD), 'root.key.next': NEW.toString('base64') },
    ],
    [
      'after the commit of a rotation',
      { 'root.key': OLD, 'root.key.next': NEW },
      NEW,
      { ...current(NEW), ...kept(OLD) },
    ],
    [
      'if the former key is saved and the next key is not renamed yet',
      { 'root.key': OLD, 'root.key.next': NEW, [`root.key.${fingerprintOf(OLD)}`]: OLD },
      NEW,
      { ...current(NEW), ...kept(OLD) },
    ],
    ['if the former key is missing', { 'root.key.next': NEW }, NEW, current(NEW)],
    [
      'after a completed rotation',
      { 'root.key': NEW, [`root.key.${fingerprintOf(OLD)}`]: OLD },
      NEW,
      { ...current(NEW), ...kept(OLD) },
    ],
    [
      'if the database is a copy from before the rotation',
      { 'root.key': NEW, [`root.key.${fingerprintOf(OLD)}`]: OLD },
      OLD,
      { ...current(OLD), ...kept(NEW) },
    ],
    [
      'unless the database uses an unknown key; then no file changes',
      { 'root.key': OLD, 'root.key.next': NEW },
      OLDER,
      { ...current(OLD), 'root.key.next': NEW.toString('base64') },
    ],
  ])('makes the key files match the database %s', async (_, files, needed, expected) => {
    for (const [name, key] of Object.entries(files)) await put(name, key)
    await own.settle(fingerprintOf(needed))
    expect(await found()).toEqual(expected)
    // Runs the step again, as the next startup does.
    await own.settle(fingerprintOf(needed))
    expect(await found()).toEqual(expected)
  })

  test("never loses a key if a file with the key's name has other content", async () => {
    await put('root.key', OLD)
    await put('root.key.next', NEW)
    await put(`root.key.${fingerprintOf(OLD)}`, OLDER)
    await expect(own.settle(fingerprintOf(NEW))).rejects.toBeInstanceOf(StartupError)
    expect(await found()).toMatchObject(current(OLD))
  })

  test('ignores unrelated files and incomplete keys', async () => {
    await put('root.key', OLD)
    await writeFile(join(folder, 'root.key.next'), 'half')
    await put('root.key.backup', NEW)
    expect(await own.given()).toEqual([{ key: OLD, from: join(folder, 'root.key') }])
  })
})
