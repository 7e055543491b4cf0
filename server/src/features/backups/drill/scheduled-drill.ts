/** Runs test restores of registered backups, on request or on the schedule in BACKUP_DRILL_SCHEDULE. */

import type { Cron } from '../../../lib/cron.ts'
import { StartupError } from '../../../lib/startup-error.ts'
import { UnreadableError } from '../../../platform/crypto/index.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import {
  CancelledJobError,
  type Jobs,
  jobKind,
  startTrackedJob,
  type TrackedJob,
} from '../../../platform/jobs/index.ts'
import { SYSTEM } from '../../../platform/journal/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import { appendBackupEvent } from '../backups.journal.ts'
import { fileName } from '../file/names.ts'
import { OtherReleaseError } from '../restore-into-empty/restore.ts'
import { NotStoredError, type Store } from '../stores/store.ts'
import type { BackupReadLocks } from '../work/reading.ts'
import { type DrilledFile, newestFull, saveDrill, saveVerified } from './drill.store.ts'
import { type DrillDeps, drill } from './drill.ts'
import { clearThrownAway, NotTriedError } from './temporary-server.ts'

/** The scheduled job that runs a test restore. A failed job is retried once. The job's expiry limits its duration. */
const DRILL = jobKind<Record<string, never>>('backups.drill', {
  retries: 1,
  retryDelaySeconds: 600,
  expireInSeconds: 24 * 60 * 60 - 1,
})

export interface PlannedDrillDeps extends Omit<DrillDeps, 'stores'> {
  db: Scopes
  jobs: Jobs
  store: Store
  reading: BackupReadLocks
  cron: Cron | undefined
}

export function schedulesDrills(deps: PlannedDrillDeps): void {
  const { jobs, cron } = deps
  jobs.schedule(DRILL, cron?.text)
  jobs.work(DRILL, async () => {
    if (cron) await drillNewest(deps)
  })
}

export type NamedDrillDeps = Omit<PlannedDrillDeps, 'jobs' | 'cron'>

/**
 * Runs a test restore of the newest full backup. Returns its duration in seconds, or null if there is no backup.
 * @throws any error of the test restore
 */
export async function drillNewest(deps: NamedDrillDeps): Promise<number | null> {
  await clearThrownAway(deps.dataDir, deps.log)
  const newest = await deps.db.acrossTenants(newestFull, 'read')
  return newest ? drillNamed(deps, newest) : null
}

/**
 * Runs a test restore of one backup and records the result. Returns the duration in seconds.
 * @throws any error of the test restore; if the backup caused it, the backup no longer counts as verified
 */
export async function drillNamed(
  deps: NamedDrillDeps,
  file: DrilledFile,
  onProgress?: (share: number) => void,
): Promise<number> {
  const { db, log, reading } = deps
  const { id } = file
  await using _lock = await reading.lock(id)
  const order = { kind: 'drill', tenant_id: null, subject_id: id, actor: SYSTEM }
  const job = await startTrackedJob(deps, order)
  try {
    const seconds = await drillFile(deps, file, job, onProgress)
    if (!(await job.end())) throw new CancelledJobError()
    await db.acrossTenants(async (tx) => {
      const scope = await saveDrill(tx, file, seconds)
      const changes = { drill_seconds: seconds }
      if (scope) await appendBackupEvent(tx, SYSTEM, 'backup.verified', { id, ...scope }, changes)
    })
    log.info({ backup: id, seconds }, 'backup test restore completed')
    return seconds
  } catch (error) {
    // An error after a cancellation is only its consequence.
    const isFault = !job.signal.aborted && isOfBackup(error)
    await canFail(job.end(isFault ? FAULTY : NOT_TRIED), 'recording of a test restore', log)
    if (isFault)
      await db.acrossTenants(async (tx) => {
        const failed = await saveVerified(tx, file, false)
        const changes = { error: FAULTY }
        if (failed) await appendBackupEvent(tx, SYSTEM, 'backup.failed', { id, ...failed }, changes)
      })
    throw error
  }
}

const FAULTY = 'The test restore of this backup failed.'
const NOT_TRIED = 'The test restore could not be completed. See the log of the service.'

/** Restores the file into a temporary server, reports the progress, and returns the duration in seconds. */
async function drillFile(
  deps: NamedDrillDeps,
  { id, rewritten_at }: DrilledFile,
  job: TrackedJob,
  onProgress?: (share: number) => void,
): Promise<number> {
  const { store } = deps
  const name = fileName(id, rewritten_at)
  const size = await store.size(name)
  const report = (bytes: number) => {
    job.signal.throwIfAborted()
    const phase = bytes < size ? 'Restoring into a temporary server' : 'Verifying the restored data'
    job.report({ phase, done: bytes, total: size })
    onProgress?.(bytes / size)
  }
  const file = counted(store.read(name), report)
  return (await drill(file, size, { ...deps, stores: [store] })).seconds
}

/** Matches the SQLSTATE classes for invalid data, violated constraints, and unknown tables or columns. */
const OF_ROWS = /^(22|23|42)/

/**
 * Returns true if the backup itself caused the error. Returns false for other causes: an unreachable store, a full
 * disk, a crashed server, or a backup of a newer release.
 */
function isOfBackup(error: unknown): boolean {
  if (error instanceof NotTriedError || error instanceof OtherReleaseError) return false
  if ([NotStoredError, StartupError, UnreadableError].some((kind) => error instanceof kind))
    return true
  return OF_ROWS.test((error as { code?: string }).code ?? '')
}

async function* counted(
  source: AsyncIterable<Uint8Array>,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of source) {
    bytes += chunk.length
    onBytes(bytes)
    yield chunk
  }
}
