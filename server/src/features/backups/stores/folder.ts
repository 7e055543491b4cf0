/** Backups in a folder: written aside, made durable, then renamed, so that half of one never appears. */
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { NoRoomError, NotStoredError, type OpenStore, type StoredObject } from './store.ts'
import { writeOut } from './write-out.ts'

/** What stays free on the disk, which the embedded database may share: a twentieth, a GiB at most. */
const SPARE_SHARE = 0.05
const MAX_SPARE = 1024 ** 3
const LOOK_EVERY = 16 * 1024 ** 2
const PART = '.part'

/** @param folder made where it is missing, for the service's user alone */
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
        `${folder} has room for ${mebibytes(Math.max(0, room))} beside its reserve, and ${mebibytes(bytes)} are needed: free some, delete a backup (DELETE /api/admin/backup/ID), or move BACKUP_DIR`,
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
        let unlooked = 0
        await writeOut(file, source, async (bytes) => {
          signal.throwIfAborted()
          unlooked += bytes
          if (unlooked < LOOK_EVERY) return
          unlooked = 0
          await requireRoom(LOOK_EVERY)
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

  /** A rename or a deletion is durable once its folder is. */
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

/** A disk, a quota or a process's limit that takes no more, whatever was free a moment before. */
const isFull = (error: unknown): error is NodeJS.ErrnoException =>
  ['ENOSPC', 'EDQUOT', 'EFBIG'].includes((error as NodeJS.ErrnoException).code ?? '')

const fullOf = (folder: string, { code }: NodeJS.ErrnoException) =>
  `${folder} takes no more (${code}): free some room, delete a backup (DELETE /api/admin/backup/ID), or move BACKUP_DIR`

const notStored = (error: unknown, name: string) =>
  (error as NodeJS.ErrnoException).code === 'ENOENT'
    ? new NotStoredError(`the backup's file ${name} is gone`, { cause: error })
    : error

/** Another process may delete what was just listed. */
function unlessGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

const mebibytes = (bytes: number) => `${Math.ceil(bytes / 1024 ** 2)} MiB`
