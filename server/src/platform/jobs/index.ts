export { type Jobs, type JobsOptions, openJobs, type SendOptions } from './jobs.ts'
export { type JobKind, jobKind } from './kind.ts'
export { findRunningTrackedJob } from './tracked-job.store.ts'
export { TRACKED_JOB_TABLES } from './tracked-job.table.ts'
export {
  appendCancellation,
  CancelledJobError,
  startSingleTrackedJob,
  startTrackedJob,
  type TrackedJob,
  type TrackedJobDeps,
  trackedJobs,
  trackedJobsUpkeep,
} from './tracked-job.ts'
export type { JobContext } from './worker.ts'
