/** Runs test restores of registered backups, on request or on the schedule in BACKUP_DRILL_SCHEDULE. */

import type { Cron } from '../../../lib/cron.ts'
import { Problem } from '../../../lib/problems.ts'
import { StartupError } from '../../../lib/startup-error.ts'
import { UnreadableError } from '../../../platform/crypto/index.ts'
import { lockUntilEnd, type Scopes, type TenantTx } from '../../../platform/db/index.ts'
import {
  CancelledJobError,
  findRunningTrackedJob,
  type Jobs,
  jobKind,
  startTrackedJob,
  type TrackedJob,
} from '../../../platform/jobs/index.ts'
import { type Actor, SYSTEM } from '../../../platform/journal/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import { appendBackupEvent } from '../backups.journal.ts'
import { fileName } from '../file/names.ts'
import { OtherReleaseError } from '../restore-into-empty/restore.ts'
import { NotStoredError, type Store } from '../stores/store.ts'
import type { BackupReadLocks } from '../work/reading.ts'
import { type DrilledFile, newestFull, saveDrill, saveVerified } from './drill.store.ts'
import { type DrillDeps, type Drilled, drill } from './drill.ts'
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
    if (cron) await drillUnlessRunning(deps)
  })
}

/** Runs the scheduled test restore. Skips it while another one is running, which measures the duration as well. */
export async function drillUnlessRunning(deps: NamedDrillDeps): Promise<number | null> {
  try {
    return await drillNewest(deps)
  } catch (error) {
    if (!(error instanceof Problem && error.code === 'drill_running')) throw error
    deps.log.info({}, 'scheduled test restore skipped, because another one is running')
    return null
  }
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

/** The requester of a test restore, and the functions with which the caller follows and ends it. */
export interface DrillOrder {
  /** By default the service itself. */
  actor?: Actor
  onProgress?(share: number): void
  /** Receives the id of the job. */
  onStarted?(jobId: string): void
  /** Ends the test restore at once. */
  signal?: AbortSignal
}

const DRILL_KIND = 'drill'

/**
 * Runs a test restore of one backup and records the result. Returns the duration in seconds.
 * @throws Problem 409 while another test restore is running on any node
 * @throws any error of the test restore; if the backup caused it, the backup no longer counts as verified
 */
export async function drillNamed(
  deps: NamedDrillDeps,
  file: DrilledFile,
  order: DrillOrder = {},
): Promise<number> {
  const { log, reading } = deps
  const { id } = file
  const { actor = SYSTEM } = order
  await using lock = new AsyncDisposableStack()
  lock.use(await reading.lock(id))
  const kind = { kind: DRILL_KIND, tenant_id: null, subject_id: id }
  const job = await startTrackedJob(deps, { ...kind, actor }, requireNoneRunning)
  order.onStarted?.(job.id)
  try {
    // Once the job has ended, the backup can be deleted.
    const drilled = drillFile(deps, file, job, order)
    const { seconds, records } = await drilled.finally(() => lock.disposeAsync())
    const isRecorded = await job.end(undefined, async (tx) => {
      const scope = await saveDrill(tx, file, seconds)
      const changes = { drill_seconds: seconds, records }
      if (scope) await appendBackupEvent(tx, actor, 'backup.verified', { id, ...scope }, changes)
    })
    if (!isRecorded) throw new CancelledJobError()
    log.info({ backup: id, seconds }, 'backup test restore completed')
    return seconds
  } catch (error) {
    // An error after a cancellation is only its consequence.
    const isFault = !job.signal.aborted && isOfBackup(error)
    const ended = job.end(isFault ? FAULTY : NOT_TRIED, async (tx) => {
      const failed = isFault && (await saveVerified(tx, file, false))
      const changes = { error: FAULTY }
      if (failed) await appendBackupEvent(tx, actor, 'backup.failed', { id, ...failed }, changes)
    })
    await canFail(ended, 'recording of a test restore', log)
    throw error
  }
}

/** @throws Problem 409 while a test restore is running on any node */
async function requireNoneRunning(tx: TenantTx): Promise<void> {
  await lockUntilEnd(tx, 'drillStart')
  if (await findRunningTrackedJob(tx, DRILL_KIND)) throw new Problem('drill_running')
}

const FAULTY = 'The test restore of this backup failed.'
const NOT_TRIED = 'The test restore could not be completed. See the log of the service.'

/** Restores the file into a temporary server, reports the progress, and returns the duration and the number of records. */
async function drillFile(
  deps: NamedDrillDeps,
  { id, rewritten_at }: DrilledFile,
  job: TrackedJob,
  { onProgress, signal = job.signal }: DrillOrder,
): Promise<Drilled> {
  const { store } = deps
  const ending = AbortSignal.any([job.signal, signal])
  const name = fileName(id, rewritten_at)
  const size = await store.size(name)
  const report = (bytes: number) => {
    ending.throwIfAborted()
    const phase = bytes < size ? 'Restoring into a temporary server' : 'Verifying the restored data'
    job.report({ phase, done: bytes, total: size })
    onProgress?.(bytes / size)
  }
  const file = counted(store.read(name), report)
  return drill(file, size, { ...deps, stores: [store], signal: ending })
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
