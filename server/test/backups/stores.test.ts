/** The contract of every backup store, tested with a folder and a bucket. */
import { type FileHandle, open as openFile, readdir } from 'node:fs/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import { NotStoredError } from '../../src/features/backups/stores/store.ts'
import { scratch } from '../support/scratch.ts'
import { until } from '../support/until.ts'
import { bytesOf, folderSubject, later, PART, s3Subject, whole } from './stores.ts'

const never = new AbortController().signal

describe.each([
  ['a folder', folderSubject],
  ['a bucket', s3Subject],
] as const)('a backup store in %s', (_what, open) => {
  test('returns the bytes that were written, of any size', async () => {
    const { store } = await open()
    for (const size of [0, 1, PART - 1, PART, PART + 1, 3 * PART, 3 * PART + 7]) {
      await store.write(`${size}`, later(bytesOf(size)), never)
      expect(await store.size(`${size}`)).toBe(size)
      expect(
        Buffer.compare(await whole(store.read(`${size}`)), await whole(later(bytesOf(size)))),
      ).toBe(0)
    }
    expect((await store.list()).map(({ name }) => name).sort()).toEqual(
      [0, 1, PART - 1, PART, PART + 1, 3 * PART, 3 * PART + 7].map(String).sort(),
    )
  })

  test.each([
    [0, 1],
    [5, 10],
    [PART - 1, PART],
    [100, 2 * PART + 100],
    [2 * PART, 3 * PART - 1],
    [3 * PART + 6, 3 * PART + 6],
  ])('returns the bytes from %i to %i', async (start, end) => {
    const { store } = await open()
    await store.write('x', later(bytesOf(3 * PART + 7)), never)
    const all = await whole(later(bytesOf(3 * PART + 7)))
    expect(await whole(store.read('x', { start, end }))).toEqual(all.subarray(start, end + 1))
  })

  test('allows a reader to stop early', async () => {
    const { store } = await open()
    await store.write('x', later(bytesOf(5 * PART)), never)
    for await (const bytes of store.read('x')) {
      expect(bytes.length).toBeGreaterThan(0)
      break
    }
  })

  test('reports a missing object, and lets the caller delete it without an error', async () => {
    const { store } = await open()
    await expect(store.size('x')).rejects.toThrow(NotStoredError)
    await expect(whole(store.read('x'))).rejects.toThrow(NotStoredError)
    expect(await store.delete('x')).toBe(true)
    expect(await store.list()).toEqual([])
  })

  test('deletes one object, and keeps the others', async () => {
    const { store } = await open()
    for (const name of ['a', 'ab', 'b']) await store.write(name, later(bytesOf(3)), never)
    expect(await store.lockedUntil('ab')).toBeNull()
    expect(await store.delete('ab')).toBe(true)
    expect((await store.list()).map(({ name }) => name).sort()).toEqual(['a', 'b'])
  })

  test('reports when each object was written', async () => {
    const { store } = await open()
    const before = Date.now() - 2000
    await store.write('x', later(bytesOf(3)), never)
    const [{ writtenAt = 0 } = {}] = await store.list()
    expect(writtenAt).toBeGreaterThan(before)
    expect(writtenAt).toBeLessThan(Date.now() + 2000)
  })

  test('stores nothing if the source fails, even after some data', async () => {
    const { store, unfinished } = await open()
    for (const size of [0, 10, 3 * PART]) {
      async function* failing() {
        yield* bytesOf(size)
        throw new Error('the database went away')
      }
      await expect(store.write('x', failing(), never)).rejects.toThrow('the database went away')
      expect(await store.list()).toEqual([])
      expect(await unfinished()).toEqual([])
    }
  })

  test('stores nothing of an aborted write, and closes the source', async () => {
    const { store, unfinished } = await open()
    const calling = new AbortController()
    let isLeft = false
    async function* endless() {
      try {
        for (let n = 0; ; n += 1) {
          if (n === 10 * PART) calling.abort(new Error('the service stops'))
          yield* bytesOf(1000)
        }
      } finally {
        isLeft = true
      }
    }
    setImmediate(() => calling.abort(new Error('the service stops')))
    await expect(store.write('x', endless(), calling.signal)).rejects.toThrow('the service stops')
    expect(isLeft).toBe(true)
    expect(await store.list()).toEqual([])
    expect(await unfinished()).toEqual([])
  })

  test('hides the partial files of a killed writer until they are deleted', async () => {
    const { store, unfinished, dieWriting } = await open()
    await dieWriting('x')
    await dieWriting('xy')
    await dieWriting('y')
    expect(await store.list()).toEqual([])
    await expect(store.size('x')).rejects.toThrow(NotStoredError)
    await store.discard('x')
    expect(await unfinished()).toHaveLength(2)
    await store.sweep(Date.now() - 60_000)
    expect(await unfinished()).toHaveLength(2)
    await store.sweep(Date.now() + 60_000)
    expect(await unfinished()).toEqual([])
  })

  test('accepts several concurrent writes', async () => {
    const { store } = await open()
    const names = ['a', 'b', 'c']
    await Promise.all(names.map((name) => store.write(name, later(bytesOf(2 * PART)), never)))
    const read = await Promise.all(names.map((name) => whole(store.read(name))))
    expect(new Set(read.map((bytes) => bytes.toString('hex'))).size).toBe(1)
    await until('all to be listed', async () => (await store.list()).length === 3 || undefined)
  })

  test('passes the checks of the store, and does not show credentials in its location', async () => {
    const { store } = await open()
    await store.check()
    await store.requireRoom(1024)
    expect(store.place).not.toContain('@')
  })
})

test('a folder store flushes writes and deletions to disk, so that they survive a power failure', async () => {
  const folder = await scratch()
  const handle = await openFile(folder)
  const synced: string[][] = []
  const syncing = vi.spyOn(Object.getPrototypeOf(handle), 'sync')
  syncing.mockImplementation(async function (this: FileHandle) {
    if ((await this.stat()).isDirectory()) synced.push(await readdir(folder))
  })
  onTestFinished(() => syncing.mockRestore())
  await handle.close()
  const store = folderStore(folder)
  await store.write('x', later(bytesOf(3)), never)
  await store.delete('x')
  expect(synced).toEqual([['x'], []])
})
