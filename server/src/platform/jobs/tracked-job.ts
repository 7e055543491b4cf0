/**
 * Tracked jobs: long work without a table of its own, which users can follow and cancel (ADR 0040). A job whose process
 * stops reporting every second counts as failed.
 */
import { DAY, MINUTE, SECOND } from '../../lib/clock.ts'
import { poller } from '../../lib/poller.ts'
import { lockUntilEnd, logFailures, type Scopes, type TenantTx } from '../db/index.ts'
import type { JobSource, JobUnit, LongJobRow } from '../feature/job-source.ts'
import { type Actor, append, ordererOf, requireSession } from '../journal/index.ts'
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
  /**
   * Ends the job as failed with an error text, otherwise as completed. Returns false if the job had already ended.
   * @param record records the result in the same transaction, unless the job had already ended
   */
  end(error?: string, record?: (tx: TenantTx) => Promise<void>): Promise<boolean>
}

export interface TrackedJobDeps {
  db: Scopes
  log: Logger
}

/**
 * Records the start of a tracked job. The caller must end it.
 * @param check runs in the same transaction, and refuses the start by throwing
 */
export async function startTrackedJob(
  deps: TrackedJobDeps,
  order: store.TrackedOrder,
  check?: (tx: TenantTx) => Promise<void>,
): Promise<TrackedJob> {
  const id = await deps.db.acrossTenants(async (tx) => {
    await check?.(tx)
    return store.insertTrackedJob(tx, order)
  })
  return follow(deps, id)
}

/**
 * Starts a tracked job of a kind that runs at most once at a time, on any node. The caller must end the job.
 * @param order the job, with the user whose session must still be valid
 * @returns the id of the running job, and the job itself only if this call started it
 */
export async function startSingleTrackedJob(
  deps: TrackedJobDeps,
  order: store.TrackedOrder,
): Promise<{ id: string; started?: TrackedJob }> {
  const { id, isNew } = await deps.db.acrossTenants(async (tx) => {
    requireSession(tx, order.actor)
    // Waits for a concurrent call, and then sees the job that the other call has started.
    await lockUntilEnd(tx, 'singleJobs')
    const running = await store.findRunningTrackedJob(tx, order.kind)
    if (running !== undefined) return { id: running, isNew: false }
    const actor = ordererOf(order.actor)
    return { id: await store.insertTrackedJob(tx, { ...order, actor }), isNew: true }
  })
  return isNew ? { id, started: follow(deps, id) } : { id }
}

/** Records the progress of a job every second, until the caller ends the job. */
function follow({ db, log }: TrackedJobDeps, id: string): TrackedJob {
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
    async end(error, record) {
      await reporting.stop()
      const end =
        error === undefined
          ? { status: 'completed' as const }
          : { status: 'failed' as const, error }
      return db.acrossTenants(async (tx) => {
        if (!(await store.endTrackedJob(tx, id, { ...end, done: progress.done }))) return false
        await record?.(tx)
        return true
      })
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
