/**
 * Runs backup jobs, one at a time on each node. A job counts as running only while its advisory lock is held. After a
 * crash the lock is free, so another process can mark the job as failed. Two connections share the lock: the connection
 * that does the work, and the connection in `locks.ts`. The second one stays open until the outcome is recorded.
 */

import { poller } from '../../../lib/poller.ts'
import { asSentence, Problem } from '../../../lib/problems.ts'
import { UnreadableError } from '../../../platform/crypto/index.ts'
import {
  type Conflicts,
  isPassing,
  logFailures,
  openPacer,
  type PgConnection,
  problemOf,
  type Replica,
  type Scopes,
  type TenantTx,
} from '../../../platform/db/index.ts'
import { CancelledJobError } from '../../../platform/jobs/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import { appendBackupEvent } from '../backups.journal.ts'
import { insertBackup } from '../backups.store.ts'
import { createOnReplica } from '../create/on-replica.ts'
import { holdsUpOthers } from '../create/snapshot.store.ts'
import { forgetPurged, settleLeft } from '../erase/forget-purged.ts'
import { KeptError, type Rewritten } from '../erase/rewrite.ts'
import { UnreadableFile } from '../file/age.ts'
import { fileName, sidecarName } from '../file/names.ts'
import type { RestoreOptions, RestoreResult } from '../restore-in-place/outcome.ts'
import { RefusedError } from '../restore-in-place/preconditions.ts'
import { restoreBackup } from '../restore-in-place/restore.ts'
import type { InPlaceDeps } from '../restore-in-place/transaction.ts'
import { NoRoomError, NotStoredError, StoreError } from '../stores/store.ts'
import type { BackupLocks } from './locks.ts'
import type { Progress } from './progress.ts'
import * as store from './work.store.ts'

const POLL_MS = 2_000
const PROGRESS_EVERY_MS = 1_000
/** Limits the throttling. A backup takes at most five times as long as without throttling (docs/backups.md). */
const PACER_LIMITS = { perTransaction: 4, max: 4, idle: 0.1 }
/** The pause before trying again to record the outcome of a job. */
const END_AGAIN_MS = 500

export interface BackupWorkerDeps extends Omit<InPlaceDeps, 'safety' | 'entryKey'> {
  db: Scopes
  /** The replica that backups are read from. If undefined, they are read from the primary. */
  replica?: Replica | undefined
  /** Maps each database constraint to the problem that its feature throws when it is violated. */
  conflicts: Conflicts
  locks: BackupLocks
  /** The id of the only job to run, and only if no service claims queued jobs. Undefined runs all jobs. */
  only?: string | undefined
  /** Called within the transaction that marks a backup as completed. */
  onCreated(tx: TenantTx): Promise<void>
}

const BEGINNING: Progress = {
  share: 0,
  phase: 'Preparing',
  done: null,
  total: null,
  unit: 'records',
}
const CANCELLED = 'The job was cancelled.'
const SOMEBODY_WAITS = 'another process, such as a migration, is waiting for a table'

/** The outcome of a job that the worker still has to record. */
interface JobOutcome {
  made?: store.CreatedBackup
  /** The result of a dry run of a restore. */
  result?: RestoreResult
  rewritten?: Rewritten
}

/** Thrown when a job stops to make way for other work. All jobs except restores are retried later. */
class GiveWay extends Error {}

export interface BackupWorker {
  wake(): void
  /** Resolves when no job is queued that this process can run. */
  idle(): Promise<void>
  stop(): Promise<void>
}

export function startBackupWorker(given: BackupWorkerDeps): BackupWorker {
  // The worker must use the database even in maintenance mode, because its own restores enter that mode.
  const deps = { ...given, db: given.db.duringMaintenance() }
  const { db, clock, log } = deps
  const stopping = new AbortController()

  /**
   * Returns true if a service will claim the job. This is preferred, because the service has its own store and keys and
   * outlives this command.
   */
  const isLeft = async () =>
    deps.only !== undefined && (await db.acrossTenants(store.isTakenByOthers, 'read'))

  async function poll(): Promise<boolean> {
    await failAbandonedJobs(deps)
    if (stopping.signal.aborted || (await isLeft())) return false
    const job = await db.acrossTenants((tx) => store.findQueued(tx, deps.only), 'read')
    return job !== undefined && (await work(deps, job, stopping.signal)) === 'ended'
  }

  const polling = poller(poll, {
    clock,
    pollMs: POLL_MS,
    failureGapMs: POLL_MS,
    onError: logFailures('polling of backup jobs', log),
  })
  return {
    wake: polling.wake,
    idle: polling.idle,
    stop() {
      stopping.abort(new GiveWay('the service is shutting down'))
      return polling.stop()
    },
  }
}

/** Runs a job under its lock. Returns 'left' if another process runs the job, or the job was returned to the queue. */
async function work(
  deps: BackupWorkerDeps,
  job: store.Job,
  stopping: AbortSignal,
): Promise<'ended' | 'left'> {
  await using lock = await deps.locks.share('longJobs', job.number)
  if (!lock) return 'left'
  return await begin(deps, job, AbortSignal.any([stopping, lock.lost]))
}

/** Starts a job on a separate connection. The caller must hold the job's lock. */
async function begin(
  deps: BackupWorkerDeps,
  job: store.Job,
  ending: AbortSignal,
): Promise<'ended' | 'left'> {
  const { db, log } = deps
  const client = deps.openConnection()
  await client.connect()
  try {
    await store.shareJob(client, job)
    if (!(await db.acrossTenants((tx) => store.beginJob(tx, job)))) return 'left'
    log.info({ backup: job.backup_id, kind: job.kind, tenant: job.tenant_id }, 'backup job started')
    return await finish(deps, job, ending, () => perform(deps, client, job, ending))
  } finally {
    await canFail(client.end(), 'closing of a backup connection', log)
  }
}

/** Does the work of a job and reports its progress. A real restore (not a dry run) also ends the job. */
async function perform(
  deps: BackupWorkerDeps,
  client: PgConnection,
  job: store.Job,
  ending: AbortSignal,
): Promise<JobOutcome | 'ended'> {
  const givingWay = new AbortController()
  const signal = AbortSignal.any([ending, givingWay.signal])
  // Closes the connection on abort, so that a running query is not waited for.
  const end = () => void canFail(client.end(), 'cancellation of a backup', deps.log)
  signal.addEventListener('abort', end)
  const recording = recordProgress(deps, job, (reason) => givingWay.abort(reason))
  const watch = { ...recording.watch, signal, quiet: recording.quiet }
  try {
    signal.throwIfAborted()
    if (job.kind === 'create') {
      const { rest } = openPacer(deps.db, PACER_LIMITS)
      return { made: await createOnReplica(client, job, deps, { ...watch, rest }) }
    }
    if (job.kind === 'forget') return { rewritten: await forgetPurged(deps, job, watch) }
    const options = job.options as RestoreOptions
    if (!options.dry_run) await requireInTime(deps, job)
    const inPlace = { ...deps, safety: safetyOf(deps), entryKey: deps.db.entryKey }
    const result = await restoreBackup(client, job, options, inPlace, watch)
    return options.dry_run ? { result } : 'ended'
  } catch (error) {
    // After an abort, other errors are only consequences of the abort. The actual cause is the reason of the abort.
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', end)
    await recording.stop()
  }
}

/** @throws RefusedError if the restore was requested too long ago, regardless of why it had to wait */
async function requireInTime({ db }: BackupWorkerDeps, { id }: store.Job): Promise<void> {
  const ordered = await db.acrossTenants((tx) => store.findLapsed(tx, id), 'read')
  if (ordered !== undefined)
    throw new RefusedError(
      `the restore was requested at ${ordered} and has waited too long. Request it again`,
    )
}

/** Records the progress of a job. Aborts it when a user cancels it, or another process waits for its table locks. */
function recordProgress(
  { db, clock, log }: BackupWorkerDeps,
  job: store.Job,
  abort: (reason: Error) => void,
) {
  const state: { progress: Progress; pid?: number } = { progress: BEGINNING }
  const recording = poller(
    async () => {
      const { progress, pid } = state
      if (await db.acrossTenants((tx) => store.saveProgress(tx, job.id, progress)))
        abort(new CancelledJobError())
      if (pid !== undefined && (await db.acrossTenants((tx) => holdsUpOthers(tx, pid), 'read')))
        abort(new GiveWay(SOMEBODY_WAITS))
      return false
    },
    {
      clock,
      pollMs: PROGRESS_EVERY_MS,
      onError: logFailures('recording of backup progress', log),
    },
  )
  return {
    stop: recording.stop,
    /** Records the latest progress, and stops. */
    async quiet() {
      await recording.idle()
      await recording.stop()
    },
    watch: {
      progress(progress: Progress) {
        state.progress = progress
      },
      holding(pid: number) {
        state.pid = pid
      },
    },
  }
}

/** Returns the functions that record the progress of a restore's safety backup. */
function safetyOf({ db }: BackupWorkerDeps): InPlaceDeps['safety'] {
  return {
    begin: (id, { actor }, tenantId) =>
      db.acrossTenants(async (tx) => {
        if (await store.beginAgain(tx, id)) return
        await insertBackup(tx, {
          id,
          type: tenantId === null ? 'full' : 'tenant',
          tenant_id: tenantId,
          reason: 'safety',
          created_by: actor.user_id,
        })
      }),
    complete: (id, made) => db.acrossTenants((tx) => store.completeBackup(tx, id, made)),
  }
}

async function finish(
  deps: BackupWorkerDeps,
  job: store.Job,
  ending: AbortSignal,
  run: () => Promise<JobOutcome | 'ended'>,
): Promise<'ended' | 'left'> {
  const { db, log } = deps
  const { backup_id: backup, kind } = job
  try {
    const outcome = await run()
    if (outcome !== 'ended')
      await conclude(deps, job, ending, async (tx) => {
        const { made, result, rewritten } = outcome
        await store.requireAtWork(tx, job)
        if (made) {
          await store.completeBackup(tx, backup, made)
          const { locked_until: _, ...details } = made
          await appendJobEvent(tx, job, 'backup.created', details)
          await deps.onCreated(tx)
        }
        if (rewritten) {
          const { records, forgotten } = rewritten
          await appendJobEvent(tx, job, 'backup.rewritten', { records, forgotten })
        }
        await store.endJob(tx, job, null, result)
      })
    log.info({ backup, kind }, 'backup job completed')
    return 'ended'
  } catch (error) {
    // The commit succeeded but its acknowledgement was lost, so the result is valid.
    if (await db.acrossTenants((tx) => store.isCompleted(tx, job.id))) {
      log.warn({ err: error, backup, kind }, 'backup job completed (acknowledgement lost)')
      return 'ended'
    }
    await cleanUp(deps, job)
    // Does not restart an interrupted restore automatically, because the requester may no longer expect it.
    if (error instanceof GiveWay && kind !== 'restore') {
      log.info({ backup, reason: error.message }, 'backup job postponed')
      await db.acrossTenants((tx) => store.requeueJob(tx, job))
      return 'left'
    }
    if (error instanceof CancelledJobError) {
      log.info({ backup, kind }, 'backup job cancelled')
      await conclude(deps, job, ending, (tx) => store.endJob(tx, job, CANCELLED))
      return 'ended'
    }
    log.error({ err: error, backup, kind }, 'backup job failed')
    await conclude(deps, job, ending, (tx) => fail(tx, job, sentenceOf(error, deps.conflicts)))
    return 'ended'
  }
}

/**
 * Records the outcome of a job. Retries if the database is not writable, for example while another node's full restore
 * blocks writes for minutes. During the retries the job does not count as abandoned, because this process still holds
 * its lock.
 * @throws the reason of the signal if the signal aborts first
 */
async function conclude(
  { db, clock, log }: BackupWorkerDeps,
  { kind }: store.Job,
  ending: AbortSignal,
  work: (tx: TenantTx) => Promise<unknown>,
): Promise<void> {
  // Records the outcome of a restore in maintenance mode too, because the restore may have entered that mode.
  if (kind === 'restore') return void (await db.acrossTenants(work))
  const logFailure = logFailures('recording of a backup job result', log)
  for (let previous: unknown; ; ) {
    try {
      await db.requireAvailable(null)
      return await db.acrossTenants(async (tx) => {
        await store.waitBriefly(tx)
        await work(tx)
      })
    } catch (error) {
      if (!isPassing(error)) throw error
      if (ending.aborted) throw ending.reason
      logFailure(error, previous)
      previous = error
    }
    await clock.delay(END_AGAIN_MS, { signal: ending }).catch(() => undefined)
  }
}

export type JobEndDeps = Pick<BackupWorkerDeps, 'db' | 'store' | 'backupKeys' | 'log'>

/** Marks jobs as failed whose process has died. */
export async function failAbandonedJobs(deps: JobEndDeps): Promise<void> {
  for (const job of await deps.db.acrossTenants(store.findAbandoned))
    await failAbandonedJob(deps, job)
}

async function failAbandonedJob(deps: JobEndDeps, job: store.Job): Promise<void> {
  await cleanUp(deps, job)
  const error = 'The process ended before the job was completed. Start the job again.'
  await deps.db.acrossTenants((tx) => fail(tx, job, error))
}

async function fail(tx: TenantTx, job: store.Job, error: string): Promise<void> {
  if (await store.endJob(tx, job, error)) await appendJobEvent(tx, job, 'backup.failed', { error })
}

/** Deletes the partial files of a job that will not be completed. */
async function cleanUp(deps: JobEndDeps, job: store.Job): Promise<void> {
  const { kind, backup_id } = job
  if (kind === 'create') await discard(deps, backup_id)
  if (kind === 'restore')
    for (const id of await deps.db.acrossTenants((tx) => store.failSafeties(tx, job)))
      await discard(deps, id)
  if (kind === 'forget') await settleLeft(deps, job)
}

async function discard({ store: files, log }: JobEndDeps, id: string): Promise<void> {
  for (const name of [fileName(id, null), sidecarName(id)]) {
    await canFail(files.discard(name), 'deletion of an incomplete backup', log)
    await canFail(files.delete(name), 'deletion of a failed backup', log)
  }
}

const appendJobEvent = (
  tx: TenantTx,
  { actor, tenant_id, backup_id: id, type, reason }: store.Job,
  action: 'backup.created' | 'backup.failed' | 'backup.rewritten',
  changes: object,
): Promise<void> =>
  appendBackupEvent(tx, actor, action, { id, type, tenant_id }, { reason, ...changes })

const SENTENCES = [NoRoomError, NotStoredError, StoreError, KeptError, store.LostJobError]

/** Returns the reason why a job failed, as shown to its requester. Internal details appear only in the log. */
function sentenceOf(error: unknown, conflicts: Conflicts): string {
  if (error instanceof RefusedError) return `Refused: ${error.message}.`
  if (error instanceof GiveWay) return `Nothing was restored: ${error.message}. Retry the restore.`
  if (SENTENCES.some((kind) => error instanceof kind)) return `${(error as Error).message}.`
  if (error instanceof UnreadableError)
    return `Nothing was restored, because data of the backup cannot be decrypted (${error.message}).`
  if (error instanceof UnreadableFile) return `The backup file is not usable: ${error.message}.`
  const problem = error instanceof Problem ? error : problemOf(error, conflicts)
  return problem ? asSentence(problem) : 'Internal error. See the log of the service for the cause.'
}
