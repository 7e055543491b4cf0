/** Long jobs, for the composition root. */
export { openJobList } from './job-list.ts'
