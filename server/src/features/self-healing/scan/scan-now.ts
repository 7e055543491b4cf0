/** Scans on request of a superadmin, as a tracked job (ADR 0040). */
import { SECOND } from '../../../lib/clock.ts'
import type { Time } from '../../../lib/time.ts'
import type { Superadmin } from '../../../platform/access/index.ts'
import {
  startSingleTrackedJob,
  type TrackedJob,
  type TrackedJobDeps,
} from '../../../platform/jobs/index.ts'
import { actorOf } from '../../../platform/journal/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import { failureSentence } from '../detect/detect.ts'
import type { ScanOrder } from '../fixes.schema.ts'
import type { Scan, ScanOptions } from './scan.ts'

/** The kind of the job. */
export const SCAN_JOB = 'self_healing_scan'
/** How long to wait before asking again whether a scheduled scan has ended. */
const AGAIN_MS = SECOND

const WAITING = 'Waiting for another scan to end'
const STOPPED = 'The service was stopped before the scan ended. Start the scan again.'

export interface RequestedScans {
  /** Starts a scan, unless a requested scan is running on any node. */
  start(caller: Superadmin): Promise<ScanOrder>
  /** Stops the scans of this node. */
  stop(): void
  /** Resolves when no requested scan runs on this node. */
  ended(): Promise<unknown>
}

export interface RequestedScanDeps extends TrackedJobDeps {
  clock: Time
  /** Runs a scan. Returns undefined if another scan is running. */
  scan(options: ScanOptions): Promise<Scan | undefined>
}

export function requestedScans(deps: RequestedScanDeps): RequestedScans {
  const { log } = deps
  const stopping = new AbortController()
  let running: Promise<unknown> = Promise.resolve()

  async function run(job: TrackedJob): Promise<void> {
    let error: string | undefined
    try {
      await scanOnce(deps, job, AbortSignal.any([job.signal, stopping.signal]))
    } catch (failure) {
      if (!job.signal.aborted && !stopping.signal.aborted)
        log.warn({ err: failure }, 'requested scan failed')
      error = stopping.signal.aborted ? STOPPED : `The scan failed: ${failureSentence(failure)}`
    }
    await canFail(job.end(error), 'recording of the end of a scan', log)
  }

  return {
    async start(caller) {
      const order = { kind: SCAN_JOB, tenant_id: null, subject_id: null, actor: actorOf(caller) }
      const { id, started } = await startSingleTrackedJob(deps, order)
      if (started) running = Promise.all([running, run(started)])
      return { job_id: id, started: started !== undefined }
    },
    stop: () => stopping.abort(),
    ended: () => running,
  }
}

/** Scans once. Waits while another scan, such as the scheduled one, is running. */
async function scanOnce(
  { scan, clock }: RequestedScanDeps,
  job: TrackedJob,
  signal: AbortSignal,
): Promise<void> {
  const onProgress = (title: string, done: number, total: number) =>
    job.report({ phase: title, done, total })
  for (;;) {
    const scanned = await scan({ signal, onProgress })
    if (scanned) return job.report({ phase: null, done: scanned.fixes.length })
    job.report({ phase: WAITING })
    await clock.delay(AGAIN_MS, { signal })
  }
}
