/**
 * Tracked jobs: long work without a table of its own, which users can follow and cancel (ADR 0040). A job whose process
 * stops reporting every second counts as failed.
 */
import { DAY, MINUTE, SECOND } from '../../lib/clock.ts'
import { poller } from '../../lib/poller.ts'
import { logFailures, type Scopes, type TenantTx } from '../db/index.ts'
import type { JobSource, JobUnit, LongJobRow } from '../feature/job-source.ts'
import { type Actor, append } from '../journal/index.ts'
import type { Upkeep } from '../lifecycle/upkeep.ts'
import type { Logger } from '../observe/log.ts'
import * as store from './tracked-job.store.ts'

const REPORT_MS = SECOND
/** How long ended jobs are listed. */
const KEEP_MS = 30 * DAY

/** The reason of a job's signal, and the error of its work, after a user cancelled the job. */
export class CancelledJobError extends Error {
  constructor() {
    super('the job was cancelled')
  }
}

export interface TrackedJob {
  readonly id: string
  /** Aborts with `CancelledJobError` within a second after a user cancelled the job. */
  readonly signal: AbortSignal
  /** Reports the progress. Fields that are left out stay. The progress is recorded within a second. */
  report(progress: Partial<store.TrackedProgress>): void
  /** Ends the job as failed with an error text, otherwise as completed. Returns false if the job had already ended. */
  end(error?: string): Promise<boolean>
}

export interface TrackedJobDeps {
  db: Scopes
  log: Logger
}

/** Records the start of a tracked job. The caller must end it. */
export async function startTrackedJob(
  { db, log }: TrackedJobDeps,
  order: store.TrackedOrder,
): Promise<TrackedJob> {
  const id = await db.acrossTenants((tx) => store.insertTrackedJob(tx, order))
  const cancelling = new AbortController()
  const progress: store.TrackedProgress = { phase: null, done: 0, total: null }
  const reporting = poller(
    async () => {
      const isRunning = await db.acrossTenants((tx) => store.saveTrackedProgress(tx, id, progress))
      if (!isRunning) cancelling.abort(new CancelledJobError())
      return false
    },
    { clock: db.clock, pollMs: REPORT_MS, onError: logFailures('recording of job progress', log) },
  )
  return {
    id,
    signal: cancelling.signal,
    report: (change) => void Object.assign(progress, change),
    async end(error) {
      await reporting.stop()
      const end =
        error === undefined
          ? { status: 'completed' as const }
          : { status: 'failed' as const, error }
      return db.acrossTenants((tx) => store.endTrackedJob(tx, id, { ...end, done: progress.done }))
    },
  }
}

/** Returns the source of the tracked jobs of some kinds. */
export function trackedJobs(db: Scopes, kinds: readonly string[], unit: JobUnit): JobSource {
  return {
    kinds,
    select: store.selectTrackedJobs(kinds, unit),
    cancel: (job, actor) =>
      db.acrossTenants(async (tx) => {
        if (!(await store.endTrackedJob(tx, job.id, { status: 'cancelled' }))) return false
        await appendCancellation(tx, job, actor)
        return true
      }),
  }
}

export function appendCancellation(
  tx: TenantTx,
  { id, kind, tenant_id }: LongJobRow,
  actor: Actor,
): Promise<void> {
  return append(tx, actor, {
    action: 'job.cancelled',
    tenant_id,
    resource_type: 'job',
    resource_id: id,
    changes: { kind },
  })
}

/** The upkeep that records the end of jobs whose process has died, and deletes old jobs. */
export function trackedJobsUpkeep(db: Scopes): Upkeep {
  return {
    what: 'upkeep of jobs',
    everyMs: MINUTE,
    isNeededToServe: false,
    run: () =>
      db.acrossTenants((tx) =>
        store.tidyTrackedJobs(tx, new Date(db.clock.now() - KEEP_MS).toISOString()),
      ),
  }
}
