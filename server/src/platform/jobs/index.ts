/** Background jobs, for the features and the composition root. */

export { type Jobs, type JobsOptions, openJobs, type SendOptions } from './jobs.ts'
export { type JobKind, jobKind } from './kind.ts'
export type { JobContext } from './worker.ts'
