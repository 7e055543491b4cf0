/** Backup stores for tests, with ways to inspect and damage their contents. */
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { parseS3Url } from '../../src/config/s3-url.ts'
import { folderStore } from '../../src/features/backups/stores/folder.ts'
import { s3Store } from '../../src/features/backups/stores/s3/s3.ts'
import type { OpenStore } from '../../src/features/backups/stores/store.ts'
import { systemTime } from '../../src/lib/time.ts'
import { openS3, type S3Server } from '../support/s3.ts'

/** The size of upload parts and of read ranges in these tests. */
export const PART = 64 * 1024

export interface Subject {
  store: OpenStore
  /** Lists the leftovers of unfinished writers. */
  unfinished(): Promise<string[]>
  /** Leaves the same files as a writer that was killed. */
  dieWriting(name: string): Promise<void>
}

export async function folderSubject(): Promise<Subject> {
  const folder = await mkdtemp(join(tmpdir(), 'wardkeep-store-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return {
    store: folderStore(folder),
    unfinished: async () => (await readdir(folder)).filter((name) => name.endsWith('.part')),
    async dieWriting(name) {
      await writeFile(join(folder, `${name}.part`), 'x')
      await utimes(join(folder, `${name}.part`), new Date(), new Date())
    },
  }
}

/** Opens a store in the bucket. The store uses the clock of the server. */
export function storeOf(server: S3Server, options: { lockDays?: number; url?: string } = {}) {
  const { location, credentials } = parseS3Url(options.url ?? server.url)
  if (!credentials) throw new Error('no credentials')
  const { lockDays } = options
  const clock = { ...systemTime, now: () => server.now }
  return s3Store({ location, credentials, clock, lockDays, partBytes: PART, firstPauseMs: 1 })
}

export async function s3Subject(): Promise<Subject & { server: S3Server }> {
  const server = await openS3()
  const store = storeOf(server)
  onTestFinished(() => store.close())
  return {
    server,
    store,
    unfinished: async () => [...server.uploads.values()].map(({ key }) => key),
    async dieWriting(name) {
      server.uploads.set(randomUUID(), { key: `wardkeep/${name}`, begunAt: Date.now() })
    },
  }
}

/** The content is random, so that every part differs. */
const CONTENT = randomBytes(32 * PART)

/** Yields the first bytes of the content in pieces that are not aligned with parts. */
export function* bytesOf(length: number, piece = 10_000): Generator<Buffer> {
  for (let at = 0; at < length; at += piece)
    yield CONTENT.subarray(at, Math.min(at + piece, length))
}

export async function* later<T>(values: Iterable<T>): AsyncGenerator<T> {
  yield* values
}

export const whole = async (source: AsyncIterable<Uint8Array>): Promise<Buffer> =>
  Buffer.concat(await Array.fromAsync(source))
