/** The data folder's own root keys: made once, never lost, and found again after a crash at any point. */
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
/** What the folder has, by the names of its files. */
const found = async () => {
  const names = await readdir(folder)
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
  return Object.fromEntries(names.map((name, index) => [name, texts[index]?.trim()]))
}
const kept = (key: Buffer) => ({ [`root.key.${fingerprintOf(key)}`]: key.toString('base64') })
const current = (key: Buffer) => ({ 'root.key': key.toString('base64') })

describe('the first key', () => {
  test('is made once, for nobody else to read, and the log says so without it', async () => {
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

  test('is one, however many make it at once', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => ownKeys(folder, log).make()))
    expect(new Set(made.map(({ key }) => fingerprintOf(key))).size).toBe(1)
  })

  test('is another in every folder', async () => {
    const one = await own.make()
    const other = await ownKeys(join(folder, 'b'), log).make()
    expect(one.key).not.toEqual(other.key)
  })

  test('is never the draft that a crash has left', async () => {
    await writeFile(join(folder, 'root.key.4711'), OLD.toString('base64').slice(0, 10))
    const { key } = await own.make()
    expect(await own.given()).toEqual([{ key, from: join(folder, 'root.key') }])
  })

  test('is not made anew over one that is damaged', async () => {
    await writeFile(join(folder, 'root.key'), 'half a k')
    await expect(own.make()).rejects.toBeInstanceOf(StartupError)
    await expect(own.given()).rejects.toBeInstanceOf(StartupError)
    expect(await readFile(join(folder, 'root.key'), 'utf8')).toBe('half a k')
  })
})

test('the next key stays the same until it is the current one', async () => {
  await put('root.key', OLD)
  const next = await own.keepNext()
  expect(await own.keepNext()).toEqual(next)
  expect((await stat(next.from)).mode & 0o777).toBe(0o600)
  await own.settle(fingerprintOf(next.key))
  expect((await own.keepNext()).key).not.toEqual(next.key)
})

describe('the files follow the database', () => {
  test.each<[string, Record<string, Buffer>, Buffer, object]>([
    ['before the rotation', { 'root.key': OLD }, OLD, current(OLD)],
    [
      'with a next key that is not in use',
      { 'root.key': OLD, 'root.key.next': NEW },
      OLD,
      { ...current(OLD), 'root.key.next': NEW.toString('base64') },
    ],
    [
      'behind the commit',
      { 'root.key': OLD, 'root.key.next': NEW },
      NEW,
      { ...current(NEW), ...kept(OLD) },
    ],
    [
      'with the former key kept, and the next one not moved yet',
      { 'root.key': OLD, 'root.key.next': NEW, [`root.key.${fingerprintOf(OLD)}`]: OLD },
      NEW,
      { ...current(NEW), ...kept(OLD) },
    ],
    ['without the former key', { 'root.key.next': NEW }, NEW, current(NEW)],
    [
      'at its end',
      { 'root.key': NEW, [`root.key.${fingerprintOf(OLD)}`]: OLD },
      NEW,
      { ...current(NEW), ...kept(OLD) },
    ],
    [
      'back to a copy from before it',
      { 'root.key': NEW, [`root.key.${fingerprintOf(OLD)}`]: OLD },
      OLD,
      { ...current(OLD), ...kept(NEW) },
    ],
    [
      'of a key from elsewhere: none is touched',
      { 'root.key': OLD, 'root.key.next': NEW },
      OLDER,
      { ...current(OLD), 'root.key.next': NEW.toString('base64') },
    ],
  ])('%s', async (_, files, needed, expected) => {
    for (const [name, key] of Object.entries(files)) await put(name, key)
    await own.settle(fingerprintOf(needed))
    expect(await found()).toEqual(expected)
    // Again, as the next start does.
    await own.settle(fingerprintOf(needed))
    expect(await found()).toEqual(expected)
  })

  test('and a key is never lost to a file that has its name and holds another', async () => {
    await put('root.key', OLD)
    await put('root.key.next', NEW)
    await put(`root.key.${fingerprintOf(OLD)}`, OLDER)
    await expect(own.settle(fingerprintOf(NEW))).rejects.toBeInstanceOf(StartupError)
    expect(await found()).toMatchObject(current(OLD))
  })

  test('whatever else lies there, or is half of a key', async () => {
    await put('root.key', OLD)
    await writeFile(join(folder, 'root.key.next'), 'half')
    await put('root.key.backup', NEW)
    expect(await own.given()).toEqual([{ key: OLD, from: join(folder, 'root.key') }])
  })
})
