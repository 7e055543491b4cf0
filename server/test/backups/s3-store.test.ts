/** Tests specific to S3 buckets: network errors, credentials, locks, and writers that are killed. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sizeOfPart } from '../../src/features/backups/stores/s3/upload.ts'
import { StoreError } from '../../src/features/backups/stores/store.ts'
import { DAY } from '../../src/lib/clock.ts'
import { type Asked, type Mishap, openS3 } from '../support/s3.ts'
import { until } from '../support/until.ts'
import { bytesOf, later, PART, s3Subject, storeOf, whole } from './stores.ts'

const never = new AbortController().signal
const SIZE = 3 * PART + 7
const content = () => whole(later(bytesOf(SIZE)))

/** Returns a mishap that makes the first matching requests fail, for the given number of times. */
const first = (times: number, mishap: Mishap, which: (asked: Asked) => boolean) => {
  let left = times
  return (asked: Asked) => {
    if (!which(asked) || left === 0) return undefined
    left -= 1
    return mishap
  }
}

const isBegin = ({ method, query }: Asked) => method === 'POST' && query.has('uploads')
const isPart = ({ method, query }: Asked) => method === 'PUT' && query.get('partNumber') === '2'
const isComplete = ({ method, query }: Asked) => method === 'POST' && query.has('uploadId')
const isPut = ({ method, query }: Asked) => method === 'PUT' && !query.has('partNumber')
const isRead = ({ method, query }: Asked) => method === 'GET' && !query.has('uploads')
const isDelete = ({ method }: Asked) => method === 'DELETE'

const PASSING: Mishap[] = [
  { status: 503, code: 'SlowDown' },
  { status: 500 },
  'reset',
  'undone',
  'cut',
]

describe('a temporary S3 error', () => {
  test.each(PASSING)('is retried while writing parts: %j', async (mishap) => {
    for (const which of [isBegin, isPart, isComplete]) {
      const { store, server } = await s3Subject()
      server.breakWith(first(2, mishap, which))
      await store.write('x', later(bytesOf(SIZE)), never)
      server.breakWith(() => undefined)
      expect(Buffer.compare(await whole(store.read('x')), await content())).toBe(0)
    }
  })

  test.each(PASSING)('is retried for small objects, reads and deletions: %j', async (mishap) => {
    const { store, server } = await s3Subject()
    for (const which of [isPut, isRead, isDelete]) {
      server.breakWith(first(2, mishap, which))
      await store.write('x', later(bytesOf(100)), never)
      expect(await whole(store.read('x'))).toHaveLength(100)
      expect(await store.delete('x')).toBe(true)
      expect(await store.list()).toEqual([])
    }
  })

  test('is retried safely if the store completed the write before the error', async () => {
    const { store, server } = await s3Subject()
    server.breakWith(first(1, { status: 200 }, isComplete))
    await store.write('x', later(bytesOf(SIZE)), never)
    expect(await store.size('x')).toBe(SIZE)
  })

  test('makes a reader request only the failed range again', async () => {
    const { store, server } = await s3Subject()
    await store.write('x', later(bytesOf(SIZE)), never)
    server.asked.length = 0
    const from = `bytes=${PART}-`
    server.breakWith(first(3, 'cut', ({ headers }) => headers.range?.startsWith(from) === true))
    expect(Buffer.compare(await whole(store.read('x')), await content())).toBe(0)
    const ranges = server.asked.map(({ headers }) => Number(/\d+/.exec(String(headers.range))))
    expect(ranges).toEqual([0, PART, PART, PART, PART, 2 * PART, 3 * PART])
  })
})

describe('a permanent S3 error', () => {
  test.each([
    ['at the start of the upload', isBegin],
    ['while a part is uploaded', isPart],
    ['at the end of the upload', isComplete],
  ])('makes the write fail and leaves no object: %s', async (_what, which) => {
    const { store, server, unfinished } = await s3Subject()
    server.breakWith((asked) => (which(asked) ? { status: 503, code: 'SlowDown' } : undefined))
    await expect(store.write('x', later(bytesOf(SIZE)), never)).rejects.toThrow(StoreError)
    expect(server.asked.filter(which)).toHaveLength(5)
    expect(await store.list()).toEqual([])
    expect(await unfinished()).toEqual([])
  })

  test("makes the request fail immediately with the store's message if access is refused", async () => {
    const { store, server } = await s3Subject()
    server.breakWith((asked) =>
      isPart(asked) ? { status: 400, code: 'EntityTooSmall', message: 'Too small.' } : undefined,
    )
    await expect(store.write('x', later(bytesOf(SIZE)), never)).rejects.toThrow(
      `the backup store ${store.place} rejected a request: PUT 400 EntityTooSmall Too small`,
    )
    expect(server.asked.filter(isPart)).toHaveLength(1)
  })

  test('makes a read fail, as does a change of the object during the read', async () => {
    const { store, server } = await s3Subject()
    await store.write('x', later(bytesOf(SIZE)), never)
    server.breakWith((asked) => (isRead(asked) ? 'cut' : undefined))
    await expect(whole(store.read('x'))).rejects.toThrow(StoreError)
    server.breakWith(({ headers }) =>
      headers['if-match'] ? { status: 412, code: 'PreconditionFailed' } : undefined,
    )
    await expect(whole(store.read('x'))).rejects.toThrow('changed while it was being read')
  })

  test('while an upload is aborted leaves that upload to the cleanup of old uploads', async () => {
    const { store, server, unfinished } = await s3Subject()
    server.breakWith((asked) => (isPart(asked) || isDelete(asked) ? { status: 500 } : undefined))
    await expect(store.write('x', later(bytesOf(SIZE)), never)).rejects.toThrow(StoreError)
    expect(await unfinished()).toEqual(['wardkeep/x'])
    server.breakWith(() => undefined)
    await store.sweep(server.now + 1)
    expect(await unfinished()).toEqual([])
  })
})

test('a write reads its source at most two parts ahead of the upload', async () => {
  const { store, server } = await s3Subject()
  let pulled = 0
  async function* counted() {
    for (const bytes of bytesOf(20 * PART, PART / 8)) {
      pulled += bytes.length
      const taken = server.asked.filter(({ query }) => query.has('partNumber')).length
      expect(pulled - taken * PART).toBeLessThanOrEqual(2 * PART + PART / 8)
      yield bytes
    }
  }
  await store.write('x', counted(), never)
  expect(pulled).toBe(20 * PART)
})

test('10,000 upload parts can contain 1 TiB, and no part exceeds the S3 limit', () => {
  const MIB = 1024 ** 2
  const sizes = Array.from({ length: 10_000 }, (_, n) => sizeOfPart(n + 1, 8 * MIB))
  expect(sizes.reduce((sum, size) => sum + size)).toBeGreaterThan(0.99 * 1024 ** 4)
  expect(Math.max(...sizes)).toBeLessThan(5 * 1024 ** 3)
  expect(new Set(sizes.slice(0, 4_000))).toEqual(new Set([8 * MIB]))
})

test('a list of objects continues after its first page, and leaves out objects in subfolders', async () => {
  const { store, server } = await s3Subject()
  const names = ['a', 'b', 'c', 'd', 'e']
  for (const name of [...names, 'deeper/f']) await store.write(name, later(bytesOf(3)), never)
  server.asked.length = 0
  expect((await store.list()).map(({ name }) => name)).toEqual(names)
  expect(server.asked).toHaveLength(3)
})

test('a killed writer leaves only an unfinished upload, which the cleanup aborts', async () => {
  const { store, server, unfinished } = await s3Subject()
  const child = fork(join(import.meta.dirname, '../support/s3-child.ts'), [server.url, 'x'])
  onTestFinished(() => void child.kill('SIGKILL'))
  const dead = once(child, 'exit')
  await until(
    'two parts to be there',
    async () => server.asked.filter(isPart).length > 0 || undefined,
  )
  child.kill('SIGKILL')
  await dead
  expect(await store.list()).toEqual([])
  expect(await unfinished()).toEqual(['wardkeep/x'])
  await store.sweep(server.now)
  expect(await unfinished()).toEqual(['wardkeep/x'])
  await store.sweep(server.now + 1)
  expect(await unfinished()).toEqual([])
})

describe('a client that S3 refuses', () => {
  test.each([
    [
      'another secret',
      (url: string) => url.replace('S3RVER@', 'other-secret@'),
      'SignatureDoesNotMatch',
    ],
    ['another key', (url: string) => url.replace('//S3RVER', '//OTHER'), 'InvalidAccessKeyId'],
    ['another bucket', (url: string) => url.replace('/backups/', '/nowhere/'), 'NoSuchBucket'],
  ])('gets a clear error: %s', async (_what, change, code) => {
    const server = await openS3()
    const store = storeOf(server, { url: change(server.url) })
    onTestFinished(() => store.close())
    const told = await store.check().catch((error: Error) => error)
    expect(told).toBeInstanceOf(StoreError)
    expect(String(told)).toContain(code)
    await expect(store.write('x', later(bytesOf(SIZE)), never)).rejects.toThrow(code)
    expect(String(told)).not.toContain('other-secret')
  })

  test('gets a clear error if no server responds', async () => {
    const server = await openS3()
    const store = storeOf(server)
    onTestFinished(() => store.close())
    await server.close()
    await expect(store.check()).rejects.toThrow(/did not respond: connection refused/)
    await expect(store.size('x')).rejects.toThrow(StoreError)
  })
})

describe('a lock on an S3 object', () => {
  async function locked() {
    const { server } = await s3Subject()
    const store = storeOf(server, { lockDays: 3 })
    onTestFinished(() => store.close())
    await store.write('small', later(bytesOf(7)), never)
    await store.write('large', later(bytesOf(SIZE)), never)
    return { server, store }
  }

  test('prevents the deletion of the object until it ends, and the refusal says when that is', async () => {
    const { server, store } = await locked()
    const until = new Date(server.now + 3 * DAY).toISOString()
    for (const name of ['small', 'large']) {
      expect(await store.lockedUntil(name)).toBe(until)
      expect(await store.delete(name)).toBe(false)
    }
    server.now += 3 * DAY + 1
    for (const name of ['small', 'large']) expect(await store.delete(name)).toBe(true)
    expect(await store.list()).toEqual([])
  })

  test('is recognized by the refused deletion if the store does not report locks', async () => {
    const { server, store } = await locked()
    const ahead = storeOf({ ...server, now: server.now + 9 * DAY })
    onTestFinished(() => ahead.close())
    expect(await ahead.delete('large')).toBe(false)
    expect(await store.size('large')).toBe(SIZE)
  })

  test('is never bypassed by adding a delete marker', async () => {
    const { server, store } = await locked()
    server.now += 4 * DAY
    await store.delete('large')
    expect(server.hidden).toEqual([])
    expect(server.asked.filter(isDelete).map(({ query }) => query.get('versionId'))).toEqual([
      'v-wardkeep/large',
    ])
  })

  test('is not assumed after refusals for other reasons', async () => {
    const { store, server } = await s3Subject()
    await store.write('x', later(bytesOf(7)), never)
    server.breakWith((asked) =>
      isDelete(asked) ? { status: 403, code: 'AccessDenied' } : undefined,
    )
    await expect(store.delete('x')).rejects.toThrow(/403 AccessDenied/)
  })
})
