/**
 * The last signed head of each log, in a folder outside the database. After an older copy replaced the database, they
 * show which history was already signed.
 */
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Checkpoint, readCheckpoint } from '../../../lib/merkle/checkpoint.ts'
import { writeWhole } from '../../../platform/files/write-whole.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { type LogOrigin, readOrigin } from '../offline/index.ts'

/** A signed head that was kept. */
export type OutsideHead = Checkpoint & Omit<LogOrigin, 'name'> & { installation: string }

export interface OutsideHeads {
  /** Returns the kept heads of all logs. */
  list(): Promise<OutsideHead[]>
  /** Returns the kept head of a tenant's log, or undefined if there is none. */
  find(tenantId: number): Promise<OutsideHead | undefined>
  /** Keeps a signed head instead of the earlier one. The caller must hold the lock of the log. */
  keep(tenantId: number, note: string): Promise<void>
}

const FOLDER = 'audit-heads'
const EXTENSION = '.checkpoint'

/** Opens the folder of kept heads. @param dataDir the folder of the service's data */
export function openOutsideHeads(dataDir: string, log: Logger): OutsideHeads {
  const folder = join(resolve(dataDir), FOLDER)

  async function read(name: string): Promise<OutsideHead | undefined> {
    const path = join(folder, name)
    const note = await readFile(path, 'utf8').catch(ifMissing(undefined))
    if (note === undefined) return undefined
    try {
      const head = readCheckpoint(note)
      const { name: installation, ...place } = readOrigin(head.origin)
      return { ...head, ...place, installation }
    } catch (error) {
      log.error({ path, err: error }, 'kept audit head unreadable')
      return undefined
    }
  }

  return {
    async list() {
      const names = await readdir(folder).catch(ifMissing([]))
      const heads: OutsideHead[] = []
      for (const name of names.filter((one) => one.endsWith(EXTENSION))) {
        const head = await read(name)
        if (head) heads.push(head)
      }
      return heads
    },

    find: (tenantId) => read(`${tenantId}${EXTENSION}`),

    async keep(tenantId, note) {
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        await writeWhole(folder, `${tenantId}${EXTENSION}`, note)
      } catch (error) {
        // A full disk must not prevent auditors from reading heads.
        log.error({ folder, err: error }, 'audit head not kept')
      }
    },
  }
}

const ifMissing =
  <T>(value: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT') return value
    throw error
  }
