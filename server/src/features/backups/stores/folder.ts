/**
 * Stores backups in a folder. Each file is written under a temporary name, flushed and then renamed, so that a partial
 * file never has its final name.
 */
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { NoRoomError, NotStoredError, type OpenStore, type StoredObject } from './store.ts'
import { writeOut } from './write-out.ts'

/** The free space to keep: 5 % of the disk, at most 1 GiB. The embedded database may use the same disk. */
const SPARE_SHARE = 0.05
const MAX_SPARE = 1024 ** 3
const CHECK_EVERY_BYTES = 16 * 1024 ** 2
const PART = '.part'

/** Creates a missing `folder` so that only the service's user can access it. */
export function folderStore(folder: string): OpenStore {
  const path = (name: string) => join(folder, name)
  const made = () => mkdir(folder, { recursive: true, mode: 0o700 })

  async function requireRoom(bytes: number): Promise<void> {
    await made()
    const { bavail, blocks, bsize } = await statfs(folder)
    const spare = Math.min(MAX_SPARE, blocks * bsize * SPARE_SHARE)
    const room = bavail * bsize - spare
    if (room < bytes)
      throw new NoRoomError(
        `${folder} has ${mebibytes(Math.max(0, room))} of free space without the reserve, but ${mebibytes(bytes)} are required. Free some space, delete a backup (DELETE /api/admin/backup/ID), or move BACKUP_DIR`,
      )
  }

  async function write(
    name: string,
    source: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<void> {
    await made()
    const part = path(name + PART)
    try {
      const file = await open(part, 'wx', 0o600)
      try {
        let unchecked = 0
        await writeOut(file, source, async (bytes) => {
          signal.throwIfAborted()
          unchecked += bytes
          if (unchecked < CHECK_EVERY_BYTES) return
          unchecked = 0
          await requireRoom(CHECK_EVERY_BYTES)
        })
      } finally {
        await file.close()
      }
      await rename(part, path(name))
      await syncFolder()
    } catch (error) {
      await rm(part, { force: true })
      throw isFull(error) ? new NoRoomError(fullOf(folder, error), { cause: error }) : error
    }
  }

  /** Flushes the folder to disk, which makes a rename or a deletion durable. */
  async function syncFolder(): Promise<void> {
    const handle = await open(folder, 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  }

  async function entries(): Promise<StoredObject[]> {
    const found: StoredObject[] = []
    for (const name of await readdir(folder)) {
      const there = await stat(path(name)).catch(unlessGone)
      if (there?.isFile()) found.push({ name, writtenAt: there.mtimeMs })
    }
    return found
  }

  return {
    place: folder,
    requireRoom,
    write,
    async *read(name, range) {
      try {
        yield* createReadStream(path(name), { ...range, highWaterMark: 256 * 1024 })
      } catch (error) {
        throw notStored(error, name)
      }
    },
    async size(name) {
      try {
        return (await stat(path(name))).size
      } catch (error) {
        throw notStored(error, name)
      }
    },
    async delete(name) {
      await rm(path(name), { force: true })
      await syncFolder().catch(unlessGone)
      return true
    },
    lockedUntil: async () => null,
    async list() {
      await made()
      return (await entries()).filter(({ name }) => !name.endsWith(PART))
    },
    async discard(name) {
      await rm(path(name + PART), { force: true })
    },
    async sweep(before) {
      for (const { name, writtenAt } of await entries())
        if (name.endsWith(PART) && writtenAt < before) await rm(path(name), { force: true })
    },
    async check() {
      await made()
    },
    close: async () => undefined,
  }
}

/** Returns true if the disk, a quota or a process limit is exhausted, even after the check for free space. */
const isFull = (error: unknown): error is NodeJS.ErrnoException =>
  ['ENOSPC', 'EDQUOT', 'EFBIG'].includes((error as NodeJS.ErrnoException).code ?? '')

const fullOf = (folder: string, { code }: NodeJS.ErrnoException) =>
  `${folder} is full (${code}). Free some space, delete a backup (DELETE /api/admin/backup/ID), or move BACKUP_DIR`

const notStored = (error: unknown, name: string) =>
  (error as NodeJS.ErrnoException).code === 'ENOENT'
    ? new NotStoredError(`the backup file ${name} is missing`, { cause: error })
    : error

/** Ignores a missing file, because another process may delete a file after it was listed. */
function unlessGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

const mebibytes = (bytes: number) => `${Math.ceil(bytes / 1024 ** 2)} MiB`
