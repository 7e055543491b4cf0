/** Archives entries that are past their retention: as a file that anybody can verify without the database. */
import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { DAY } from '../../../lib/clock.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import { verifyExport } from '../offline/index.ts'
import { exportParts, type LeafRange } from '../transparency/export-log.ts'
import type { AuditHeadsService, ExportedHead } from '../transparency/heads.service.ts'
import type { DueLog } from './retention.store.ts'

export interface ArchiveDeps {
  db: Scopes
  heads: Pick<AuditHeadsService, 'export'>
  /** The folder of the archives (`AUDIT_ARCHIVE_DIR`). */
  folder: string
}

/** A file with archived entries. */
export interface Archive {
  /** The name of the file in the folder of the archives. */
  file: string
  /** The SHA-256 hash of the file, in hexadecimal. */
  sha256: string
}

/** The entries cannot be removed. The message is a sentence for people. */
export class NotRemovable extends Error {}

/**
 * Writes entries of a log into a file, and verifies it. An archive of an earlier epoch also has the first entries of the
 * later ones, because they confirm it.
 * @throws NotRemovable if the log was altered, so that nobody could verify the file
 */
export async function archiveEntries(
  { db, heads, folder }: ArchiveDeps,
  { tenant_id, epoch }: Pick<DueLog, 'tenant_id' | 'epoch'>,
  range: LeafRange,
): Promise<Archive> {
  const logs = (await headsOf(heads, tenant_id)).filter((log) => log.epoch >= epoch)
  const parts = logs.map((log) => ({
    // The next epoch confirms the end of an ended one, which its last signed head may lack.
    log: log.isEnded ? { ...log, checkpoint: null } : log,
    range: log.epoch === epoch ? range : { first: 0, end: 1 },
  }))
  const name = `audit-${tenant_id}-${epoch}-${range.first}`
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await removeDrafts(folder, name)
  const draft = join(folder, `.${name}-${randomUUID()}${DRAFT}`)
  try {
    const entries = await exportParts(db, parts, draft)
    const keys = [...new Set(logs.map(({ key }) => key))]
    const { findings, unchecked } = await verifyExport(draft, { heads: [], keys })
    const isWhole = entries === range.end - range.first
    if (!isWhole || findings.length > 0 || unchecked.length > 0) throw new NotRemovable(ALTERED)
    const sha256 = await hashOf(draft)
    // The hash in the name keeps installations that share a folder from replacing each other's files.
    const file = `${name}-${range.end - 1}-${sha256.slice(0, 12)}.jsonl`
    await rename(draft, join(folder, file))
    await flushFolder(folder)
    return { file, sha256 }
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

/** Signs the heads of a log. @throws NotRemovable if the log was altered */
async function headsOf(heads: ArchiveDeps['heads'], tenantId: number): Promise<ExportedHead[]> {
  const logs = await heads.export(tenantId).catch((error: unknown) => {
    throw error instanceof Problem && error.code === 'audit_log_altered'
      ? new NotRemovable(ALTERED)
      : error
  })
  if (logs.some(({ isAltered }) => isAltered)) throw new NotRemovable(ALTERED)
  return logs
}

const ALTERED =
  'The log was altered, so its entries stay as evidence. Run wardkeep audit verify to see the findings.'

const DRAFT = '.part'

/** Removes the drafts of archives with this name that are older than a day, because their processes died. */
async function removeDrafts(folder: string, name: string): Promise<void> {
  for (const found of await readdir(folder)) {
    if (!found.startsWith(`.${name}-`) || !found.endsWith(DRAFT)) continue
    const { mtimeMs } = await stat(join(folder, found))
    if (mtimeMs < Date.now() - DAY) await rm(join(folder, found), { force: true })
  }
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

/** Waits until the disk has the names of the files in a folder. */
async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}
